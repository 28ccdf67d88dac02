"""A table from key to value, kept as a few sorted immutable segments.

The newest segment that has a key wins. Each write merges its smaller neighbours, so the number of segments
grows with the logarithm of the rows and a lookup is one binary search per segment.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernels.segment_log import Segment
from millstream.kernels.segment_search import HASH, as_numpy, joined, matching_rows, rows_in_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millstream.kernels.segment_log import SegmentCache, SegmentLog

__all__ = ["DEAD", "HASH", "Found", "StateTable"]

DEAD: Final = "__dead"
_WRITTEN: Final = "__written"
_MERGE_RATIO: Final = 2


@dataclass(frozen=True, slots=True)
class Found:
    """What a lookup gave: per asked key whether it is there, and its values (NULL where it is not)."""

    mask: NDArray[np.bool_]
    values: pa.Table


class StateTable:
    """`keys` and `values` name the columns; rows are found by `__hash` and told apart by the keys.

    With `now`, each row remembers when it was last written, and `expire` forgets by it.
    """

    def __init__(
        self,
        keys: tuple[pa.Field, ...],
        values: tuple[pa.Field, ...],
        log: SegmentLog,
        cache: SegmentCache,
        now: int | None = None,
    ) -> None:
        self._keys = [field.name for field in keys]
        self._values = [field.name for field in values]
        written = [] if now is None else [pa.field(_WRITTEN, pa.int64())]
        self._schema = pa.schema([pa.field(HASH, pa.int64()), *keys, *values, pa.field(DEAD, pa.bool_()), *written])
        self._log = log
        self._cache = cache
        self._now = now
        self._segments = list(log.manifest())

    def lookup(self, asked: pa.Table) -> Found:
        """`asked` has `__hash` and the key columns, each key once."""
        wanted = pa.schema([self._schema.field(name) for name in (HASH, *self._keys)])
        asked = asked.select(wanted.names).cast(wanted)
        pending = np.arange(asked.num_rows)
        pieces: list[pa.Table] = []
        places: list[NDArray[np.int64]] = []
        for segment in reversed(self._segments):
            if not len(pending):
                break
            stored = self._cache.load(segment.id, self._log)
            rows, matches = matching_rows(stored, asked, pending, self._keys)
            places.append(rows)
            pieces.append(stored.select([*self._values, DEAD]).take(pa.array(matches)))
            pending = np.setdiff1d(pending, rows, assume_unique=True)
        return self._gather(asked.num_rows, pieces, places)

    def scan(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> pa.Table:
        """All rows with a hash in one of the ranges (ascending, ends included): `__hash`, keys and values."""
        found = self._schema.empty_table()
        for segment in reversed(self._segments):
            stored = self._cache.load(segment.id, self._log)
            older = stored.take(pa.array(rows_in_ranges(stored, low, high)))
            found = self._merge(found, older) if older.num_rows else found
        return found.filter(pc.invert(found.column(DEAD))).select([HASH, *self._keys, *self._values])

    def put(self, rows: pa.Table) -> None:
        """Writes rows (each key once): `__hash`, keys, values and `__dead` for those to be removed."""
        if rows.num_rows == 0:
            return
        if self._now is not None:
            rows = rows.append_column(_WRITTEN, pa.repeat(pa.scalar(self._now, pa.int64()), rows.num_rows))
        newest = _sorted(rows.select(self._schema.names).cast(self._schema))
        while self._segments and self._segments[-1].rows <= _MERGE_RATIO * newest.num_rows:
            older = self._segments.pop()
            newest = self._merge(newest, self._cache.load(older.id, self._log))
            self._remove(older)
        if not self._segments:
            newest = newest.filter(pc.invert(newest.column(DEAD)))
        if newest.num_rows:
            self._segments.append(self._written(newest))
        self._log.save_manifest(tuple(self._segments))

    def expire(self, before: int) -> None:
        """Forgets rows last written before that time. What they replaced is older still, so nothing comes back."""
        kept: list[Segment] = []
        for segment in self._segments:
            rows = self._cache.load(segment.id, self._log)
            fresh = rows.filter(pc.greater_equal(rows.column(_WRITTEN), before))
            if fresh.num_rows == rows.num_rows:
                kept.append(segment)
                continue
            self._remove(segment)
            if fresh.num_rows:
                kept.append(self._written(fresh))
        self._segments = kept
        self._log.save_manifest(tuple(kept))

    def _written(self, rows: pa.Table) -> Segment:
        segment = Segment(uuid.uuid4().hex, rows.num_rows)
        data = _file_bytes(rows)
        self._cache.store(segment.id, data)
        self._log.write(segment.id, data)
        return segment

    def _remove(self, segment: Segment) -> None:
        self._log.remove(segment.id)
        self._cache.forget(segment.id)

    def _merge(self, newest: pa.Table, older: pa.Table) -> pa.Table:
        replaced, _ = matching_rows(newest, older, np.arange(older.num_rows), self._keys)
        keep = np.ones(older.num_rows, dtype=bool)
        keep[replaced] = False
        return _sorted(pa.concat_tables([newest, older.filter(pa.array(keep)).cast(self._schema)]))

    def _gather(self, count: int, pieces: list[pa.Table], places: list[NDArray[np.int64]]) -> Found:
        found_at = np.full(count, -1, dtype=np.int64)
        rows = joined(places)
        found_at[rows] = np.arange(len(rows))
        empty = self._schema.empty_table().select([*self._values, DEAD])
        gathered = pa.concat_tables([empty, *pieces]).take(pa.array(found_at, mask=found_at < 0))
        alive = as_numpy(pc.invert(pc.fill_null(gathered.column(DEAD), fill_value=True)))
        values = gathered.select(self._values)
        if not alive.all():
            values = values.take(pa.array(np.arange(count), mask=~alive))
        return Found(alive, values)


def _sorted(rows: pa.Table) -> pa.Table:
    order = np.argsort(as_numpy(rows.column(HASH)), kind="stable")
    return rows.take(pa.array(order)).combine_chunks()


def _file_bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)
    data: bytes = sink.getvalue().to_pybytes()
    return data
