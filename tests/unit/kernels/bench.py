"""A kernel on state in memory, opened anew for each batch as Spark does, and a reader that refuses false steps."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.kernels.operator import ORDER, ROWS, BatchTime
from millstream.spark.packets import pack, unpack_by_part, unpack_in_steps
from millstream.state.memory import MemoryPieces
from millstream.state.segment_writer import PIECE_BYTES
from millstream.state.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from millstream.kernels.operator import Operator, StateTableSpec
    from millstream.state.state_table import TimeToLive

Row = tuple[Any, ...]
Change = tuple[RowKind, Row]


class Bench:
    """`schema` is that of the one input, or one by the name of each."""

    def __init__(
        self,
        operator: Operator,
        schema: pa.Schema | Mapping[str, pa.Schema],
        *,
        colliding: bool = False,
        buckets: int = 1,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self.ignored = 0
        self.late = 0
        self.tables = 0
        """How many tables of changes there were."""
        self.ttl: TimeToLive | None = None
        self.time = BatchTime()
        """What the next step is told."""
        self.clock: Callable[[BatchTime], BatchTime] | None = None
        """Makes that of a step from that of the last one."""
        self._stores: dict[tuple[int, str], MemoryPieces] = {}
        self._operator = operator
        self._schemas = {ROWS: schema} if isinstance(schema, pa.Schema) else schema
        self._colliding = colliding
        self._buckets = buckets
        self._piece_bytes = piece_bytes

    @property
    def watermark_delay_ms(self) -> int:
        return self._operator.watermark_delay_ms

    def run(self, operator: Operator) -> None:
        """Goes on with another operator, on the same state."""
        self._operator = operator

    def step(self, batch: Sequence[Change], *, pieces: int = 1) -> list[dict[str, Any]]:
        """`pieces`: in how many parts the batch is combined before they meet in the kernel."""
        return self.step_inputs({ROWS: batch}, pieces=pieces)

    def step_inputs(self, batches: Mapping[str, Sequence[Change]], *, pieces: int = 1) -> list[dict[str, Any]]:
        self.time = self.time if self.clock is None else self.clock(self.time)
        packets: dict[int, list[tuple[str, bytes]]] = {
            bucket: [] for bucket in range(self._buckets) if self._operator.needs_time
        }
        for name, batch in batches.items():
            rows = self._table(name, batch)
            size = max(-(-rows.num_rows // pieces), 1)
            for start in reversed(range(0, rows.num_rows, size)):
                packed = pack(self._operator.combine(name, rows.slice(start, size)), self._buckets)
                for row in packed.to_pylist():
                    packets.setdefault(row["bucket"], []).append((row["part"], row["payload"]))
        return [image for bucket in sorted(packets) for image in self._step_bucket(bucket, packets[bucket])]

    def _step_bucket(self, bucket: int, packets: list[tuple[str, bytes]]) -> list[dict[str, Any]]:
        def open_table(name: str) -> StateTable:
            table = self._operator.state_tables[name]
            store = self._stores.setdefault((bucket, name), MemoryPieces())
            ttl = self._ttl_of(table)
            return StateTable(table.keys, table.values, store, ttl, summed=table.summed, piece_bytes=self._piece_bytes)

        is_whole = self._operator.needs_time
        images: list[dict[str, Any]] = []
        for parts in [unpack_by_part(packets)] if is_whole else unpack_in_steps(packets, self._buckets):
            result = self._operator.open(open_table).step(parts, self.time)
            self.ignored += result.ignored
            self.late += result.late
            for changes in result.changes:
                assert changes.schema == self._operator.output_schema
                self.tables += 1
                images += changes.to_pylist()
        return images

    def _ttl_of(self, table: StateTableSpec) -> TimeToLive | None:
        if self.ttl is None or table.ttl_ms is None:
            return self.ttl
        return replace(self.ttl, length=table.ttl_ms) if table.ttl_ms else None

    def stored_rows(self) -> dict[str, int]:
        """By table, in all buckets."""
        rows: Counter[str] = Counter()
        for (_, name), store in self._stores.items():
            rows[name] += sum(segment.rows for segment in store.manifest().segments)
        return dict(rows)

    def _table(self, name: str, batch: Sequence[Change]) -> pa.Table:
        columns = {KIND: pa.array([kind for kind, _ in batch], pa.int8())}
        for at, field in enumerate(self._schemas[name]):
            columns[field.name] = pa.array([row[at] for _, row in batch], field.type)
        rows = pa.table(columns)
        for column, hashed in self._operator.hashes(name).items():
            rows = rows.append_column(column, self._hash(rows, list(hashed)))
        if self._operator.needs_order(name):
            rows = rows.append_column(ORDER, pa.array(np.arange(len(batch), dtype=np.int64) * 3))
        return rows

    def _hash(self, rows: pa.Table, columns: list[str]) -> pa.Array:
        if not columns:
            return pa.array(np.zeros(rows.num_rows, np.int64))
        texts = [repr(tuple(row.values())).encode() for row in rows.select(columns).to_pylist()]
        return pa.array([_colliding_hash(text) if self._colliding else _hash(text) for text in texts], pa.int64())


def _hash(text: bytes) -> int:
    return (zlib.crc32(text) << 32 | zlib.adler32(text)) - (1 << 63)


def _colliding_hash(text: bytes) -> int:
    """Two values in each half, and two halves."""
    number = zlib.crc32(text)
    return (number % 2) << 32 | number >> 5 & 1


class Reader:
    """The table that the changes make."""

    def __init__(self, keys: Sequence[str], *, sees_before: bool, repeats: bool = False) -> None:
        self.table: dict[Row, Row] = {}
        self._keys = keys
        self._sees_before = sees_before
        self._repeats = repeats
        self._taken: dict[Row, Row] = {}

    def read(self, changes: list[dict[str, Any]]) -> None:
        for change in changes:
            key = tuple(change[name] for name in self._keys)
            row = tuple(_frozen(value) for name, value in change.items() if name != KIND)
            self._apply(RowKind(change[KIND]), key, row)
        assert not self._taken, "-U without +U"

    def _apply(self, kind: RowKind, key: Row, row: Row) -> None:
        match kind:
            case RowKind.INSERT:
                assert key not in self.table, "+I of a key that is there"
                self.table[key] = row
            case RowKind.UPDATE_BEFORE:
                assert self._sees_before, "-U that nobody asked for"
                assert self.table[key] == row, "-U of another row"
                self._taken[key] = self.table.pop(key)
            case RowKind.UPDATE_AFTER:
                old = self._taken.pop(key) if self._sees_before else self.table[key]
                assert self._repeats or old != row, "+U that changes nothing"
                self.table[key] = row
            case RowKind.DELETE:
                assert self.table.pop(key) == row, "-D of another row"


def _frozen(value: object) -> object:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value
