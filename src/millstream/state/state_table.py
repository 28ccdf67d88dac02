"""A table from key to value, stored as a few sorted immutable segments.

The newest segment that has a key wins. Each write merges its smaller neighbours, so the number of segments grows with
the logarithm of the rows and a lookup is one binary search per segment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.state.manifest import TableManifest
from millstream.state.segment_pieces import pieces_in_range, pieces_in_ranges, ranges_to_merge, split_by_piece
from millstream.state.segment_search import HASH, as_numpy, concatenate, matching_rows, rows_between, rows_in_ranges
from millstream.state.segment_writer import PIECE_BYTES, SegmentWriter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millstream.state.manifest import Piece, Segment
    from millstream.state.segment_pieces import Range
    from millstream.state.segment_writer import PieceStore

__all__ = ["DEAD", "HASH", "Found", "StateTable", "TimeToLive"]

DEAD: Final = "__dead"
_WRITTEN: Final = "__written"
_LEAST_MERGE_RATIO: Final = 1.5
_SWEEPS_PER_TTL: Final = 2


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a lookup: whether each key exists, and its values (NULL if it does not)."""

    mask: NDArray[np.bool_]
    values: pa.Table


@dataclass(frozen=True, slots=True)
class TimeToLive:
    """Rows last written `length` before `now`, or earlier, have expired; both in milliseconds."""

    now: int
    length: int

    @property
    def end(self) -> int:
        """When the newest of the expired rows was written."""
        return self.now - self.length


class StateTable:
    """`keys` and `values` name the columns; rows are found by `__hash` and distinguished by the keys.

    With a TTL, each row stores when it was last written. A TTL may be added, changed and removed between two batches.
    When it is added, all pieces are rewritten and their rows count as written then; when it is removed, they are
    rewritten without expired rows. Rows that have expired under one TTL stay expired under a longer one.
    """

    def __init__(
        self,
        keys: tuple[pa.Field, ...],
        values: tuple[pa.Field, ...],
        store: PieceStore,
        ttl: TimeToLive | None = None,
        *,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self._keys = [field.name for field in keys]
        self._values = [field.name for field in values]
        written = [] if ttl is None else [pa.field(_WRITTEN, pa.int64())]
        self._schema = pa.schema([pa.field(HASH, pa.int64()), *keys, *values, pa.field(DEAD, pa.bool_()), *written])
        self._store = store
        self._piece_bytes = piece_bytes
        manifest = store.manifest()
        self._segments = list(manifest.segments)
        self._swept = manifest.swept
        self._clock = manifest.clock
        self._horizon = manifest.horizon
        self._ttl = ttl and self._advance_clock(ttl)
        if self._is_sweep_due():
            self._sweep_all()

    def lookup(self, keys: pa.Table) -> Found:
        """`keys` has `__hash` and the key columns, with each key once."""
        wanted = pa.schema([self._schema.field(name) for name in (HASH, *self._keys)])
        keys = keys.select(wanted.names).cast(wanted)
        hashes = as_numpy(keys.column(HASH))
        # Sorted hashes are found several times faster: neighbours are in the same pages of a segment.
        pending = np.argsort(hashes)
        is_found = np.zeros(keys.num_rows, dtype=bool)
        taken: list[pa.Table] = []
        places: list[NDArray[np.int64]] = []
        for segment in reversed(self._segments):
            for piece, key_rows in split_by_piece(segment, pending, hashes):
                stored = self._load(piece)
                rows, matches = matching_rows(stored, keys, key_rows, self._keys)
                places.append(rows)
                taken.append(stored.drop_columns([HASH, *self._keys]).take(pa.array(matches)))
                is_found[rows] = True
            pending = pending[~is_found[pending]]
        return self._gather(keys.num_rows, taken, places)

    def scan(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> pa.Table:
        """All rows with a hash in one of the ranges (ascending, ends included): `__hash`, keys and values."""
        found = self._schema.empty_table()
        for segment in reversed(self._segments):
            pieces = (self._load(piece) for piece in pieces_in_ranges(segment, low, high))
            taken = [stored.take(pa.array(rows_in_ranges(stored, low, high))) for stored in pieces]
            older = pa.concat_tables([self._schema.empty_table(), *taken])
            found = self._merge(found, older) if older.num_rows else found
        return self._drop_dead(found).select([HASH, *self._keys, *self._values])

    def put(self, rows: pa.Table) -> None:
        """Writes rows (each key once): `__hash`, keys, values and `__dead` for those to be removed."""
        if rows.num_rows == 0:
            return
        newest = _sort(self._add_times(rows))
        merged: list[Segment] = []
        count = newest.num_rows
        while self._segments and self._segments[-1].rows <= _merge_ratio(self._segments[-1]) * count:
            merged.append(self._segments.pop())
            count += merged[-1].rows
        writer = self._writer()
        for part in ranges_to_merge(merged):
            older = (self._between(segment, part) for segment in merged)
            writer.add(self._drop_expired(reduce(self._merge, older, rows_between(newest, part))))
        self._append(writer.finish())
        self._save()

    def _advance_clock(self, ttl: TimeToLive) -> TimeToLive:
        """A clock that was set back stops until it is where it was: expired rows do not reappear.

        Stored at once, since a lookup that finds nothing has as much effect as a write.
        """
        if self._clock is not None and ttl.now <= self._clock:
            ttl = replace(ttl, now=self._clock)
        before = (self._clock, self._horizon)
        self._clock = ttl.now
        self._horizon = ttl.end if self._horizon is None else max(ttl.end, self._horizon)
        if self._segments and before != (self._clock, self._horizon):
            self._save()
        return ttl

    def _is_sweep_due(self) -> bool:
        """Without a TTL, once: rows that expired under an earlier one must neither be found nor count as new."""
        if self._ttl is None or self._swept is None:
            return (self._ttl is None) != (self._swept is None)
        return self._ttl.now >= self._swept + self._ttl.length // _SWEEPS_PER_TTL

    def _sweep_all(self) -> None:
        """Drops the pieces in which most rows have expired: such rows are never found, but take up space."""
        segments, self._segments = self._segments, []
        for segment in segments:
            writer = self._writer()
            for piece in segment.pieces:
                self._sweep(piece, writer)
            self._append(writer.finish())
        self._swept = None if self._ttl is None else self._ttl.now
        if self._ttl is None:
            self._horizon = None
        self._save()

    def _sweep(self, piece: Piece, writer: SegmentWriter) -> None:
        stored = self._store.load(piece)
        is_timed = _WRITTEN in stored.column_names
        unexpired = stored.filter(pc.greater(stored.column(_WRITTEN), self._horizon)) if is_timed else stored
        fresh = self._drop_expired(self._add_times(unexpired))
        if is_timed == (self._ttl is not None) and 2 * fresh.num_rows >= stored.num_rows:
            writer.keep(piece)
            return
        writer.add(fresh)

    def _append(self, segment: Segment | None) -> None:
        self._segments += [] if segment is None else [segment]

    def _save(self) -> None:
        self._store.save_manifest(TableManifest(tuple(self._segments), self._swept, self._clock, self._horizon))

    def _writer(self) -> SegmentWriter:
        return SegmentWriter(self._store, self._piece_bytes)

    def _load(self, piece: Piece) -> pa.Table:
        return self._add_times(self._store.load(piece))

    def _add_times(self, rows: pa.Table) -> pa.Table:
        """Adds the columns of time that the table has now; rows without a time get that of this batch."""
        if self._ttl is not None and _WRITTEN not in rows.column_names:
            rows = rows.append_column(_WRITTEN, pa.repeat(pa.scalar(self._ttl.now, pa.int64()), rows.num_rows))
        return rows if rows.schema.equals(self._schema) else rows.select(self._schema.names).cast(self._schema)

    def _drop_expired(self, rows: pa.Table) -> pa.Table:
        """The rows worth writing. What an expired row replaced is older still, so nothing reappears."""
        if not self._segments:  # no older row below that a deleted row would hide
            return self._drop_dead(rows)
        return rows if self._ttl is None else rows.filter(pc.greater(rows.column(_WRITTEN), self._horizon))

    def _drop_dead(self, rows: pa.Table) -> pa.Table:
        return rows.filter(pa.array(self._is_alive(rows)))

    def _is_alive(self, rows: pa.Table) -> NDArray[np.bool_]:
        """A row of NULLs is deleted."""
        alive = pc.invert(pc.fill_null(rows.column(DEAD), fill_value=True))
        if self._ttl is not None:
            alive = pc.and_(alive, pc.greater(pc.fill_null(rows.column(_WRITTEN), 0), self._horizon))
        return as_numpy(alive)

    def _between(self, segment: Segment, part: Range) -> pa.Table:
        found = [rows_between(self._load(piece), part) for piece in pieces_in_range(segment, part)]
        return pa.concat_tables([self._schema.empty_table(), *found]).combine_chunks()

    def _merge(self, newest: pa.Table, older: pa.Table) -> pa.Table:
        replaced, _ = matching_rows(newest, older, np.arange(older.num_rows), self._keys)
        keep = np.ones(older.num_rows, dtype=bool)
        keep[replaced] = False
        return _sort(pa.concat_tables([newest, older.filter(pa.array(keep))]))

    def _gather(self, count: int, taken: list[pa.Table], places: list[NDArray[np.int64]]) -> Found:
        found_at = np.full(count, -1, dtype=np.int64)
        rows = concatenate(places)
        found_at[rows] = np.arange(len(rows))
        empty = self._schema.empty_table().drop_columns([HASH, *self._keys])
        gathered = pa.concat_tables([empty, *taken]).take(pa.array(found_at, mask=found_at < 0))
        alive = self._is_alive(gathered)
        values = gathered.select(self._values)
        if not alive.all():
            values = values.take(pa.array(np.arange(count), mask=~alive))
        return Found(alive, values)


def _merge_ratio(segment: Segment) -> float:
    """How much larger than the newer rows a segment may be to be merged with them: between 1.5 and 2.5.

    Random, as otherwise all buckets of a job, which grow alike, would have their large merges in the same batch.
    """
    return _LEAST_MERGE_RATIO + (segment.pieces[0].checksum & 0xFFFF) / 0xFFFF


def _sort(rows: pa.Table) -> pa.Table:
    order = np.argsort(as_numpy(rows.column(HASH)), kind="stable")
    return rows.take(pa.array(order)).combine_chunks()
