"""A table from key to value, kept as a few sorted immutable segments.

The newest segment that has a key wins. Each write merges its smaller neighbours, so the number of segments
grows with the logarithm of the rows and a lookup is one binary search per segment.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernels.segment_log import Segment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millstream.kernels.segment_log import SegmentCache, SegmentLog

HASH: Final = "__hash"
DEAD: Final = "__dead"
_MERGE_RATIO: Final = 2


@dataclass(frozen=True, slots=True)
class Found:
    """What a lookup gave: per asked key whether it is there, and its values (NULL where it is not)."""

    mask: NDArray[np.bool_]
    values: pa.Table


class StateTable:
    """`keys` and `values` name the columns; rows are found by `__hash` and told apart by the keys."""

    def __init__(
        self, keys: tuple[pa.Field, ...], values: tuple[pa.Field, ...], log: SegmentLog, cache: SegmentCache
    ) -> None:
        self._keys = [field.name for field in keys]
        self._values = [field.name for field in values]
        self._schema = pa.schema([pa.field(HASH, pa.int64()), *keys, *values, pa.field(DEAD, pa.bool_())])
        self._log = log
        self._cache = cache
        self._segments = list(log.manifest())

    def lookup(self, asked: pa.Table) -> Found:
        """`asked` has `__hash` and the key columns, each key once."""
        wanted = pa.schema([self._schema.field(name) for name in (HASH, *self._keys)])
        asked = asked.select(wanted.names).cast(wanted)
        hashes = _numpy(asked.column(HASH))
        pending = np.arange(len(hashes))
        pieces: list[pa.Table] = []
        places: list[NDArray[np.int64]] = []
        for segment in reversed(self._segments):
            if not len(pending):
                break
            stored = self._cache.load(segment.id, self._log)
            rows, matches = self._match(stored, hashes[pending], asked, pending)
            places.append(rows)
            pieces.append(stored.select([*self._values, DEAD]).take(pa.array(matches)))
            pending = np.setdiff1d(pending, rows, assume_unique=True)
        return self._gather(len(hashes), pieces, places)

    def put(self, rows: pa.Table) -> None:
        """Writes rows (each key once): `__hash`, keys, values and `__dead` for those to be removed."""
        if rows.num_rows == 0:
            return
        newest = _sorted(rows.select(self._schema.names).cast(self._schema))
        while self._segments and self._segments[-1].rows <= _MERGE_RATIO * newest.num_rows:
            older = self._segments.pop()
            newest = self._merge(newest, self._cache.load(older.id, self._log))
            self._log.remove(older.id)
            self._cache.forget(older.id)
        if not self._segments:
            newest = newest.filter(pc.invert(newest.column(DEAD)))
        if newest.num_rows:
            self._append(newest)
        self._log.save_manifest(tuple(self._segments))

    def _append(self, rows: pa.Table) -> None:
        segment = Segment(uuid.uuid4().hex, rows.num_rows)
        data = _file_bytes(rows)
        self._cache.store(segment.id, data)
        self._log.write(segment.id, data)
        self._segments.append(segment)

    def _match(
        self, stored: pa.Table, hashes: NDArray[np.int64], asked: pa.Table, asked_rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of (row asked, row stored) whose keys are equal, hashes of other keys being equal or not."""
        stored_hashes = _numpy(stored.column(HASH))
        candidates = np.searchsorted(stored_hashes, hashes)
        rows_out: list[NDArray[np.int64]] = []
        stored_out: list[NDArray[np.int64]] = []
        open_rows = np.arange(len(hashes))
        while len(open_rows):
            at = candidates[open_rows]
            inside = at < len(stored_hashes)
            open_rows, at = open_rows[inside], at[inside]
            same_hash = stored_hashes[at] == hashes[open_rows]
            open_rows, at = open_rows[same_hash], at[same_hash]
            equal = self._keys_equal(stored, at, asked, asked_rows[open_rows])
            rows_out.append(asked_rows[open_rows[equal]])
            stored_out.append(at[equal])
            open_rows = open_rows[~equal]
            candidates[open_rows] += 1
        return _joined(rows_out), _joined(stored_out)

    def _keys_equal(
        self, left: pa.Table, left_rows: NDArray[np.int64], right: pa.Table, right_rows: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        equal = np.ones(len(left_rows), dtype=bool)
        for name in self._keys:
            a = left.column(name).take(pa.array(left_rows))
            b = right.column(name).take(pa.array(right_rows))
            same = pc.or_(pc.fill_null(pc.equal(a, b), fill_value=False), pc.and_(pc.is_null(a), pc.is_null(b)))
            if pa.types.is_floating(a.type):
                same = pc.or_(same, pc.fill_null(pc.and_(pc.is_nan(a), pc.is_nan(b)), fill_value=False))
            equal &= _numpy(same)
        return equal

    def _merge(self, newest: pa.Table, older: pa.Table) -> pa.Table:
        replaced, _ = self._match(newest, _numpy(older.column(HASH)), older, np.arange(older.num_rows))
        keep = np.ones(older.num_rows, dtype=bool)
        keep[replaced] = False
        return _sorted(pa.concat_tables([newest, older.filter(pa.array(keep)).cast(self._schema)]))

    def _gather(self, count: int, pieces: list[pa.Table], places: list[NDArray[np.int64]]) -> Found:
        found_at = np.full(count, -1, dtype=np.int64)
        rows = _joined(places)
        found_at[rows] = np.arange(len(rows))
        empty = self._schema.empty_table().select([*self._values, DEAD])
        gathered = pa.concat_tables([empty, *pieces]).take(pa.array(found_at, mask=found_at < 0))
        alive = _numpy(pc.invert(pc.fill_null(gathered.column(DEAD), fill_value=True)))
        values = gathered.select(self._values)
        if not alive.all():
            values = values.take(pa.array(np.arange(count), mask=~alive))
        return Found(alive, values)


def _numpy(column: pa.ChunkedArray) -> NDArray[Any]:
    array: NDArray[Any] = column.to_numpy()
    return array


def _joined(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _sorted(rows: pa.Table) -> pa.Table:
    order = np.argsort(_numpy(rows.column(HASH)), kind="stable")
    return rows.take(pa.array(order)).combine_chunks()


def _file_bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)
    data: bytes = sink.getvalue().to_pybytes()
    return data
