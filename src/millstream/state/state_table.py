"""A table from key to value, stored as a few sorted immutable segments.

The newest segment that has a key wins, unless rows add up. A write adds a segment, and merges segments when there are
several of a size. A lookup asks the filter of each piece, and searches those that may have a key.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.state.manifest import TableManifest
from millstream.state.merge_policy import count_to_merge
from millstream.state.range_division import Run, clip_ranges, divide_ranges
from millstream.state.segment_merge import merge_runs, place_runs, sum_runs
from millstream.state.segment_pieces import (
    pieces_in_range,
    pieces_in_ranges,
    ranges_to_merge,
    split_by_piece,
)
from millstream.state.segment_search import (
    HASH,
    as_numpy,
    concatenate,
    is_sorted,
    matching_rows,
    rows_between,
    rows_in_ranges,
    sort_order,
)
from millstream.state.segment_writer import PIECE_BYTES, SegmentWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from millstream.state.manifest import Piece, Segment
    from millstream.state.segment_pieces import Range
    from millstream.state.segment_writer import PieceStore

__all__ = ["DEAD", "HASH", "Found", "StateTable", "TimeToLive"]

DEAD: Final = "__dead"
_WRITTEN: Final = "__written"
_SWEEPS_PER_TTL: Final = 2
_PARTS_OF_A_PIECE: Final = 4


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

    `summed` is the value of a table whose rows add up: a key may be put without a lookup, and rows with a key that is
    there already are more of it. Rows of a key are summed in merges, unless each has a time of its own. A table of the
    one kind becomes one of the other when it is opened as such, and is rewritten for that.
    """

    def __init__(
        self,
        keys: tuple[pa.Field, ...],
        values: tuple[pa.Field, ...],
        store: PieceStore,
        ttl: TimeToLive | None = None,
        *,
        summed: str | None = None,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self._keys = [field.name for field in keys]
        self._values = [field.name for field in values]
        written = [] if ttl is None else [pa.field(_WRITTEN, pa.int64())]
        self._schema = pa.schema([pa.field(HASH, pa.int64()), *keys, *values, pa.field(DEAD, pa.bool_()), *written])
        self._store = store
        self._piece_bytes = piece_bytes
        self._summed = summed
        manifest = store.manifest()
        self._segments = list(manifest.segments)
        self._swept = manifest.swept
        self._clock = manifest.clock
        self._horizon = manifest.horizon
        self._numbered = manifest.numbered
        self._ttl = ttl and self._advance_clock(ttl)
        if self._is_sweep_due():
            self._sweep_all()
        if self._segments and manifest.summed != summed:
            self._merge_all(manifest.summed)

    @property
    def expires(self) -> bool:
        """Whether a row has to be written again to stay."""
        return self._ttl is not None

    def take_numbers(self, count: int) -> int:
        """The first of so many numbers that no row of the table has; they are taken when rows are put."""
        first = self._numbered
        self._numbered += count
        return first

    def lookup(self, keys: pa.Table) -> Found:
        """`keys` has `__hash` and the key columns, with each key once."""
        wanted = pa.schema([self._schema.field(name) for name in (HASH, *self._keys)])
        keys = keys.select(wanted.names).cast(wanted)
        hashes = as_numpy(keys.column(HASH))
        # Sorted hashes are found several times faster: neighbours are in the same pages of a segment.
        pending = sort_order(hashes)
        is_found = np.zeros(keys.num_rows, dtype=bool)
        taken: list[pa.Table] = []
        places: list[NDArray[np.int64]] = []
        for segment in reversed(self._segments):
            for piece, key_rows in split_by_piece(segment, pending, hashes):
                candidates = self._filter(piece, key_rows, hashes)
                if not len(candidates):
                    continue
                stored = self._load(piece)
                rows, matches = matching_rows(stored, keys, candidates, self._keys)
                if not len(rows):
                    continue
                places.append(rows)
                taken.append(stored.drop_columns([HASH, *self._keys]).take(pa.array(matches)))
                is_found[rows] = True
            pending = pending[~is_found[pending]]
        return self._gather(keys.num_rows, taken, places)

    def ranges(
        self, low: NDArray[np.int64], high: NDArray[np.int64]
    ) -> Iterator[tuple[pa.Table, NDArray[np.int64], NDArray[np.int64]]]:
        """Of a table whose rows add up: sorted rows, and where those of each range begin and end; see `scan`.

        Nothing is copied unless rows expire.
        """
        assert self._summed is not None
        for segment in self._segments:
            for piece in pieces_in_ranges(segment, low, high):
                stored = self._load(piece)
                if self._ttl is not None:
                    stored = self._drop_dead(stored.take(pa.array(rows_in_ranges(stored, low, high)))).combine_chunks()
                hashes = as_numpy(stored.column(HASH))
                begin, end = np.searchsorted(hashes, low), np.searchsorted(hashes, high, side="right")
                if (begin < end).any():
                    yield stored, begin, end

    def snapshot(self) -> StateTable:
        """The table for reading, as it is now: what is put into this one later is not in it."""
        return copy(self)

    def scan(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> pa.Table:
        """All rows with a hash in one of the ranges (ascending, ends included): `__hash`, keys and values."""
        return pa.concat_tables([self._read_ranges(low[:0], high[:0]), *self.scan_in_parts(low, high)])

    def scan_in_parts(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Iterator[pa.Table]:
        """The same, in order of hashes, in parts that are smaller than a piece."""
        pieces = [piece for segment in self._segments for piece in pieces_in_ranges(segment, low, high)]
        is_small = sum(piece.length for piece in pieces) <= self._piece_bytes // _PARTS_OF_A_PIECE
        runs = (
            [] if is_small else [Run(as_numpy(self._load(piece)[HASH]), piece.length / piece.rows) for piece in pieces]
        )
        for part in divide_ranges(runs, low, high, self._piece_bytes // _PARTS_OF_A_PIECE):
            yield self._read_ranges(*part)

    def _read_ranges(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> pa.Table:
        runs = [self._schema.empty_table()]
        for segment in reversed(self._segments):
            taken = []
            for piece in pieces_in_ranges(segment, low, high):
                stored = self._load(piece)
                taken.append(
                    stored.take(pa.array(rows_in_ranges(stored, *clip_ranges(low, high, piece.first, piece.last))))
                )
            runs += [pa.concat_tables(taken)] if taken else []
        rows = merge_runs(runs, self._keys) if self._summed is None else place_runs(runs)
        return self._drop_dead(rows).select([HASH, *self._keys, *self._values])

    def put(self, rows: pa.Table, *, replaced: int = 0) -> None:
        """Writes rows: `__hash`, keys, values and `__dead` for those to be removed; each key once, unless rows add up.

        `replaced` is the number of rows whose keys are in the table already; it decides when to merge.
        """
        if rows.num_rows == 0:
            return
        newest = _sort(self._add_times(rows))
        count = count_to_merge(self._segments, newest.num_rows, replaced)
        kept = len(self._segments) - count
        self._segments, merged = self._segments[:kept], self._segments[kept:][::-1]
        writer = self._writer()
        for part in ranges_to_merge(merged):
            runs = [rows_between(newest, part), *(self._between(segment, part) for segment in merged)]
            writer.add(self._drop_expired(self._merge(runs)))
        gone = newest.num_rows + sum(segment.rows for segment in merged) - writer.rows
        replaced += sum(segment.replaced for segment in merged) - gone
        self._append(writer.finish(replaced if self._segments else 0))
        self._save()

    def forget_below(self, low: int) -> None:
        """Removes rows with a hash below this one; some may stay in the table, so nobody may ask for them again.

        For tables whose hashes grow with time: pieces go as a whole, or are cut where most of their rows are to go.
        """
        if not any(piece.first < low for segment in self._segments for piece in segment.pieces):
            return
        segments, self._segments = self._segments, []
        for segment in segments:
            writer = self._writer()
            for piece in segment.pieces:
                if piece.last < low:
                    continue
                self._cut(piece, low, writer)
            self._append(writer.finish(segment.replaced))
        if self._segments != segments:
            self._save()

    def _cut(self, piece: Piece, low: int, writer: SegmentWriter) -> None:
        if piece.first >= low:
            writer.keep(piece)
            return
        stored = self._load(piece)
        rest = rows_between(stored, (low, None))
        if 2 * rest.num_rows >= stored.num_rows:
            writer.keep(piece)
        else:
            writer.add(rest)

    def _merge(self, runs: list[pa.Table]) -> pa.Table:
        if self._summed is None or len(runs) == 1:
            return merge_runs(runs, self._keys)
        return place_runs(runs) if self._ttl is not None else sum_runs(runs, self._keys, self._summed)

    def _merge_all(self, summed: str | None) -> None:
        """Each key once, in a single segment; `summed` is what was added up so far."""
        segments, self._segments = self._segments[::-1], []
        writer = self._writer()
        for part in ranges_to_merge(segments):
            runs = [self._between(segment, part) for segment in segments]
            if summed is None:
                rows = merge_runs(runs, self._keys)
            else:
                rows = sum_runs([self._drop_dead(run) for run in runs], self._keys, summed)
            writer.add(self._drop_dead(rows))
        self._append(writer.finish(0))
        self._save()

    def _filter(self, piece: Piece, rows: NDArray[np.int64], hashes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows that the piece may have."""
        hash_filter = self._store.load_filter(piece)
        return rows if hash_filter is None else rows[hash_filter.may_have(hashes.take(rows))]

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
            self._append(writer.finish(segment.replaced))
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
        times = (self._swept, self._clock, self._horizon)
        self._store.save_manifest(TableManifest(tuple(self._segments), *times, self._numbered, self._summed))

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
        alive = self._is_alive(rows)
        return rows if alive.all() else rows.filter(pa.array(alive))

    def _is_alive(self, rows: pa.Table) -> NDArray[np.bool_]:
        """A row of NULLs is deleted."""
        alive = pc.invert(pc.fill_null(rows.column(DEAD), fill_value=True))
        if self._ttl is not None:
            alive = pc.and_(alive, pc.greater(pc.fill_null(rows.column(_WRITTEN), 0), self._horizon))
        return as_numpy(alive)

    def _between(self, segment: Segment, part: Range) -> pa.Table:
        found = [rows_between(self._load(piece), part) for piece in pieces_in_range(segment, part)]
        return pa.concat_tables([self._schema.empty_table(), *found]).combine_chunks()

    def _gather(self, count: int, taken: list[pa.Table], places: list[NDArray[np.int64]]) -> Found:
        empty = self._schema.empty_table().drop_columns([HASH, *self._keys])
        gathered = pa.concat_tables([empty, *taken])
        alive = np.flatnonzero(self._is_alive(gathered))
        found_at = np.full(count, -1, dtype=np.int64)
        found_at[concatenate(places)[alive]] = alive
        mask = found_at >= 0
        return Found(mask, gathered.select(self._values).take(pa.array(found_at, mask=~mask)))


def _sort(rows: pa.Table) -> pa.Table:
    hashes = as_numpy(rows.column(HASH))
    return (rows if is_sorted(hashes) else rows.take(pa.array(sort_order(hashes)))).combine_chunks()
