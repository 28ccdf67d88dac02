"""A kernel on an in-memory log, opened anew for each batch as Spark does, and a reader that refuses false steps."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.kernels.operator import ORDER
from millstream.kernels.segment_cache import SegmentCache
from millstream.kernels.segment_log import MemorySegmentLog
from millstream.kernels.state_table import StateTable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from millstream.kernels.operator import Operator
    from millstream.kernels.state_table import Lifetime

Row = tuple[Any, ...]
Change = tuple[RowKind, Row]


class Bench:
    def __init__(self, folder: Path, operator: Operator, schema: pa.Schema, *, colliding: bool = False) -> None:
        self.ignored = 0
        self.lifetime: Lifetime | None = None
        self._cache = SegmentCache(folder)
        self._logs: dict[str, MemorySegmentLog] = {}
        self._operator = operator
        self._schema = schema
        self._colliding = colliding

    def step(self, batch: Sequence[Change], *, pieces: int = 1) -> list[dict[str, Any]]:
        """`pieces`: in how many parts the batch is combined before they meet in the kernel."""
        rows = self._table(batch)
        parts: dict[str, list[pa.Table]] = {}
        size = -(-rows.num_rows // pieces)
        for start in reversed(range(0, rows.num_rows, size)):
            for name, part in self._operator.combine(rows.slice(start, size)).items():
                if part.num_rows:
                    parts.setdefault(name, []).append(part)
        kernel = self._operator.open(self._open)
        changes = kernel.step({name: pa.concat_tables(tables) for name, tables in parts.items()})
        self.ignored += kernel.ignored
        assert changes.schema == self._operator.output_schema
        images: list[dict[str, Any]] = changes.to_pylist()
        return images

    def stored_rows(self) -> dict[str, int]:
        return {name: sum(segment.rows for segment in log.manifest().segments) for name, log in self._logs.items()}

    def _table(self, batch: Sequence[Change]) -> pa.Table:
        columns = {KIND: pa.array([kind for kind, _ in batch], pa.int8())}
        for at, field in enumerate(self._schema):
            columns[field.name] = pa.array([row[at] for _, row in batch], field.type)
        rows = pa.table(columns)
        for name, hashed in self._operator.hashes.items():
            rows = rows.append_column(name, self._hash(rows, list(hashed)))
        if self._operator.needs_order:
            rows = rows.append_column(ORDER, pa.array(np.arange(len(batch), dtype=np.int64) * 3))
        return rows

    def _open(self, name: str, keys: tuple[pa.Field, ...], values: tuple[pa.Field, ...]) -> StateTable:
        log = self._logs.setdefault(name, MemorySegmentLog())
        return StateTable(keys, values, log, self._cache, self.lifetime)

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
