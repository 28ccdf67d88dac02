"""Rows that come out of order and late, and a reference model of the windows that take them.

A window takes rows until a watermark has passed its last moment, and is then complete.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from millstream.changelog import RowKind

if TYPE_CHECKING:
    from random import Random

    import duckdb

    from tests.unit.changelogs.plan_bench import Changes, Record

    Database = duckdb.DuckDBPyConnection
    Pair = tuple[Any, ...]

EPOCH: Final = datetime(2024, 2, 28, 23, 59, tzinfo=UTC).replace(tzinfo=None)
END: Final = EPOCH + timedelta(days=9999)
DELAY: Final = 5
KAFKA: Final = "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:9092', 'format' = "
COLUMNS: Final = ("n", "k", "x", "ts", "window_start", "window_end", "window_time")
TABLE: Final = pa.schema(
    [("n", pa.int32()), ("k", pa.string()), ("x", pa.int32()), *((name, pa.timestamp("us")) for name in COLUMNS[3:])]
)


def source(format_: str) -> str:
    return f"""CREATE TABLE t (n INT, k STRING, x INT, ts TIMESTAMP(3),
        WATERMARK FOR ts AS ts - INTERVAL '{DELAY}' SECOND) WITH ({KAFKA}'{format_}');"""


@dataclass(frozen=True)
class Kind:
    """A window function, as it is called after FROM and in GROUP BY, and the windows of a second."""

    call: str
    size: int
    step: int
    offset: int = 0
    grows: bool = False
    group: str | None = None

    def windows(self, at: float) -> list[tuple[int, int]]:
        every = self.size if self.grows else self.step
        aligned = range(self.offset - 50 * every, 4000, every)
        if not self.grows:
            return [(start, start + self.size) for start in aligned if start <= at < start + self.size]
        ends = [(start, start + step) for start in aligned for step in range(self.step, self.size + 1, self.step)]
        return [(start, end) for start, end in ends if start <= at < end]


def seconds(length: int) -> str:
    return f"INTERVAL '{length}' SECOND"


_BY_NAME: Final = "DATA => TABLE t, TIMECOL => DESCRIPTOR(ts)"
KINDS: Final = (
    Kind(f"TUMBLE(TABLE t, DESCRIPTOR(ts), {seconds(10)})", 10, 10, group=f"TUMBLE(ts, {seconds(10)})"),
    Kind(f"TUMBLE({_BY_NAME}, SIZE => {seconds(12)}, OFFSET => {seconds(5)})", 12, 12, 5),
    Kind(f"TUMBLE((SELECT * FROM t), DESCRIPTOR(ts), {seconds(6)}, INTERVAL '-4' SECOND)", 6, 6, -4),
    Kind(
        f"HOP(TABLE t, DESCRIPTOR(ts), {seconds(4)}, {seconds(12)})",
        12,
        4,
        group=f"HOP(ts, {seconds(4)}, {seconds(12)})",
    ),
    Kind(f"HOP(SIZE => {seconds(10)}, {_BY_NAME}, SLIDE => {seconds(5)}, OFFSET => {seconds(3)})", 10, 5, 3),
    Kind(f"CUMULATE(TABLE t, DESCRIPTOR(ts), {seconds(4)}, {seconds(12)})", 12, 4, 0, grows=True),
    Kind(f"CUMULATE(TABLE t, DESCRIPTOR(ts), {seconds(5)}, {seconds(20)}, {seconds(7)})", 20, 5, 7, grows=True),
)
assert all(60 % kind.size == 0 for kind in KINDS), "the model counts windows from a full minute"


def random_batches(chance: Random) -> list[list[Record]]:
    """Times go up, unsteadily; a batch may be empty, and may close many windows."""
    batches, now, number = [], chance.randint(0, 30), 0
    for _ in range(chance.randint(2, 8)):
        batch = []
        for _ in range(chance.choice([0, 1, 3, 6, 12])):
            now += chance.choice([0, 0, 1, 2, 7, 31])
            at = max(now - chance.choice([0, 0, 1, 3, 5, 6, 9, 25, 60]), 0)
            ts = EPOCH + timedelta(seconds=at, milliseconds=chance.choice([0, 0, 1, 999]))
            row = {"n": number, "k": chance.choice(["a", "b", None]), "x": chance.choice([0, 1, 2, 3, None])}
            batch.append(row | {"ts": None if chance.random() < 0.02 else ts})
            number += 1
        batches.append(batch)
    return batches


@dataclass
class Reference:
    """Flink's rule: a window takes rows until the watermark has passed its last moment."""

    kind: Kind
    watermark: datetime | None = None
    before: datetime | None = None
    late: int = 0
    open: Counter[Pair] = field(default_factory=Counter)
    """Rows with their windows; in a changelog, how often each is there."""

    def take(self, batch: Changes) -> None:
        self.before = self.watermark
        for kind, row in batch:
            if row["ts"] is None:
                continue
            sign = 1 if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
            for window in self.kind.windows((row["ts"] - EPOCH).total_seconds()):
                start, end = (EPOCH + timedelta(seconds=at) for at in window)
                last = end - timedelta(milliseconds=1)
                if self.before is not None and last <= self.before:
                    self.late += 1
                else:
                    self.open[*(row[name] for name in COLUMNS[:4]), start, end, last] += sign
        times = [row["ts"] - timedelta(seconds=DELAY) for _, row in batch if row["ts"] is not None]
        self.watermark = max([*times, *filter(None, [self.before])], default=None)

    def close(self) -> list[Pair]:
        """The rows of the windows that the last batch closed."""
        closed = [pair for pair in self.open if self.watermark is not None and pair[-1] <= self.watermark]
        return [pair for each in closed for pair in [each] * self.open.pop(each)]


def truth(oracle: str, rows: list[Pair], database: Database) -> Counter[Pair]:
    records = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    database.register("w", pa.Table.from_pylist(records, schema=TABLE))
    return Counter(database.execute(oracle).fetchall())
