"""What the joins of Nexmark cost per event: `python -m benchmarks.nexmark_joins [EVENTS]`, four buckets, no Spark.

Of 50 events three are auctions and 46 are bids, half of them on one hot auction of each hundred. q4 joins few columns,
q9 all of an auction with most of a bid, q20 whole bids with the auctions of one of five categories. Each is measured as
a join of changes, whose rows are counted, and as one of inserts, whose rows are appended. Seconds are those of all
cores; rows are hashed, combined, packed and unpacked as between two stages, and state is on disk.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import TYPE_CHECKING, Final

os.environ["POLARS_MAX_THREADS"] = "1"  # as in workers

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.kernels.hashing import hash_rows
from millstream.kernels.join import JoinOperator, JoinSide
from millstream.kernels.operator import LEFT, RIGHT, BatchTime
from millstream.spark.packets import pack, unpack_by_part
from millstream.state.bucket import BucketState
from millstream.state.state_table import StateTable
from millstream.state.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from millstream.kernels.operator import Operator

_BUCKETS: Final = 4
_EVENTS: Final = 250_000
_EPOCH, _AUCTIONS, _BIDS = 50, 3, 46
_IN_FLIGHT: Final = 100
_ROWS_TOGETHER: Final = 1 << 16
_TIME: Final = pa.timestamp("us")
AUCTION: Final = pa.schema(
    [
        ("id", pa.int64()),
        ("itemName", pa.string()),
        ("description", pa.string()),
        ("initialBid", pa.int64()),
        ("reserve", pa.int64()),
        ("a_dateTime", _TIME),
        ("expires", _TIME),
        ("seller", pa.int64()),
        ("category", pa.int64()),
        ("a_extra", pa.string()),
    ]
)
BID: Final = pa.schema(
    [
        ("auction", pa.int64()),
        ("bidder", pa.int64()),
        ("price", pa.int64()),
        ("channel", pa.string()),
        ("url", pa.string()),
        ("b_dateTime", _TIME),
        ("b_extra", pa.string()),
    ]
)


def draw(first: int) -> tuple[pa.Table, pa.Table]:
    """The auctions and bids of a batch of events."""
    random = np.random.default_rng(first)
    epochs = np.arange(first // _EPOCH, (first + _EVENTS) // _EPOCH)
    ids = np.repeat(epochs * _AUCTIONS, _AUCTIONS) + np.tile(np.arange(_AUCTIONS), len(epochs))
    times = np.repeat(epochs * 5000, _AUCTIONS)
    auctions = pa.table(
        [
            ids,
            _texts(random, len(ids), 20),
            _texts(random, len(ids), 100),
            random.integers(0, 1 << 20, len(ids)),
            random.integers(0, 1 << 20, len(ids)),
            pa.array(times, _TIME),
            pa.array(times + random.integers(0, 333_000, len(ids)), _TIME),
            random.integers(0, 1 << 16, len(ids)),
            10 + random.integers(0, 5, len(ids)),
            _texts(random, len(ids), 300),
        ],
        schema=AUCTION,
    )
    newest = np.repeat(epochs * _AUCTIONS, _BIDS)
    rows = len(newest)
    cold = np.maximum(newest - random.integers(0, _IN_FLIGHT, rows), 0)
    bids = pa.table(
        [
            np.where(random.random(rows) < 0.5, newest // 100 * 100, cold),
            random.integers(0, 1 << 16, rows),
            random.integers(0, 1 << 20, rows),
            _texts(random, rows, 8),
            _texts(random, rows, 40),
            pa.array(np.repeat(epochs * 5000, _BIDS) + np.tile(np.arange(_BIDS) * 100, len(epochs)), _TIME),
            _texts(random, rows, 20),
        ],
        schema=BID,
    )
    return auctions, bids


def _texts(random: np.random.Generator, rows: int, length: int) -> pa.Array:
    letters = random.integers(97, 123, rows * length, np.uint8)
    offsets = np.arange(rows + 1, dtype=np.int32) * length
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(letters)])


@dataclass(slots=True)
class Seconds:
    """Of all cores, by what they were spent on."""

    by_step: dict[str, float] = field(default_factory=dict)

    def measure(self, step: str, begin: float) -> None:
        self.by_step[step] = self.by_step.get(step, 0.0) + process_time() - begin


class Stage:
    """An operator on state that persists from batch to batch."""

    def __init__(self, name: str, operator: Operator, folder: Path, seconds: Seconds) -> None:
        self._name = name
        self._operator = operator
        self._tables = operator.state_tables
        self._storage = open_storage(folder)
        (folder / name).mkdir()
        self._batch = 0
        self._seconds = seconds

    def step(self, inputs: Mapping[str, pa.Table]) -> list[pa.Table]:
        packets: dict[int, list[tuple[str, pa.Buffer]]] = {}
        for name, rows in inputs.items():
            for batch in rows.to_batches(max_chunksize=_ROWS_TOGETHER):
                begin = process_time()
                hashed = self._add_hashes(name, batch)
                self._seconds.measure(f"{self._name} hash", begin)
                begin = process_time()
                combined = self._operator.combine(name, hashed)
                self._seconds.measure(f"{self._name} combine", begin)
                begin = process_time()
                packed = pack(combined, _BUCKETS)
                buckets, parts = packed.column("bucket").to_pylist(), packed.column("part").to_pylist()
                for bucket, part, payload in zip(buckets, parts, packed.column("payload"), strict=True):
                    packets.setdefault(bucket, []).append((part, payload.as_buffer()))
                self._seconds.measure(f"{self._name} pack", begin)
        begin = process_time()
        self._batch += 1
        changes = [table for bucket, found in sorted(packets.items()) for table in self._step_bucket(bucket, found)]
        self._seconds.measure(f"{self._name} kernel", begin)
        return changes

    def _step_bucket(self, bucket: int, packets: list[tuple[str, pa.Buffer]]) -> list[pa.Table]:
        state = BucketState(self._storage, f"{self._name}/{bucket}", self._batch, retained=10)

        def open_table(name: str) -> StateTable:
            spec = self._tables[name]
            return StateTable(spec.keys, spec.values, state.table(name), summed=spec.summed)

        changes = list(self._operator.open(open_table).step(unpack_by_part(packets), BatchTime()).changes)
        state.commit()
        return changes

    def _add_hashes(self, name: str, batch: pa.RecordBatch) -> pa.Table:
        rows = pa.Table.from_batches([batch])
        for column, names in self._operator.hashes(name).items():
            rows = rows.append_column(column, hash_rows([batch.column(each) for each in names], batch.num_rows))
        return rows


def join_of(names: tuple[str, ...], *, insert_only: bool) -> JoinOperator:
    left, right = (
        JoinSide(pa.schema([each for each in schema if each.name in names]), (key,), insert_only=insert_only)
        for schema, key in ((AUCTION, "id"), (BID, "auction"))
    )
    return JoinOperator(left, right)


QUERIES: Final[dict[str, tuple[tuple[str, ...], Callable[[pa.Table], pa.Table]]]] = {
    "q4": (("id", "category", "a_dateTime", "expires", "auction", "price", "b_dateTime"), lambda rows: rows),
    "q9": ((*AUCTION.names, "auction", "bidder", "price", "b_dateTime", "b_extra"), lambda rows: rows),
    "q20": (
        (*AUCTION.names, *BID.names),
        lambda rows: pl.DataFrame(rows).filter(pl.col("category") == 10).to_arrow().cast(AUCTION),
    ),
}


def measure(events: int, query: str, *, insert_only: bool) -> float:
    columns, select = QUERIES[query]
    operator = join_of(columns, insert_only=insert_only)
    seconds, pairs = Seconds(), 0
    with TemporaryDirectory() as folder:
        stage = Stage("join", operator, Path(folder), seconds)
        for first in range(0, events, _EVENTS):
            auctions, bids = draw(first)
            inputs = {LEFT: select(auctions).select(operator.left.columns), RIGHT: bids.select(operator.right.columns)}
            pairs += sum(table.num_rows for table in stage.step(inputs))
    total = sum(seconds.by_step.values()) * 1e6 / events
    steps = ", ".join(f"{step} {spent * 1e6 / events:.2f}" for step, spent in seconds.by_step.items())
    layout = "inserts" if insert_only else "changes"
    print(f"{query:4} as {layout} {total:6.2f} core-s per million events ({steps}); {pairs:,} pairs", flush=True)
    return total


def main() -> None:
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    for query in sys.argv[2:] or QUERIES:
        before, after = (measure(events, query, insert_only=insert_only) for insert_only in (False, True))
        print(f"{query:4} ratio {before / after:.2f}")


if __name__ == "__main__":
    main()
