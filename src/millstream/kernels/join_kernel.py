"""One bucket of an inner join, opened for one batch.

All that it needs to know of rows are their hashes, their counts and their places: partners are found as ranges of
places, and columns are copied once, for the pairs whose number changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.kernels.join_sides import Keys, open_side
from millstream.kernels.multiset import COUNT
from millstream.kernels.operator import LEFT, RIGHT, StepResult
from millstream.kernels.row_counts import sum_counts
from millstream.state.segment_search import keys_equal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from millstream.kernels.join import JoinOperator
    from millstream.kernels.join_sides import CountedRows, JoinedSide
    from millstream.kernels.operator import BatchTime, OpenTable, Parts

    Places = NDArray[np.int64]
    Ranges = tuple[Places, Places]

_LARGEST_TABLE: Final = 1 << 17
"""Rows in one table of changes: a key with many rows on both sides may have more results than fit in memory."""


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Ranges of left rows, each of which meets a range of right rows."""

    left: CountedRows
    right: CountedRows
    left_ranges: Ranges
    right_ranges: Ranges


class JoinKernel:
    def __init__(self, spec: JoinOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._open_table = open_table

    def step(self, parts: Parts, _: BatchTime) -> StepResult:
        left, right = (open_side(self._spec, name, self._open_table, parts.get(name)) for name in (LEFT, RIGHT))
        left.write()
        right.write()
        return StepResult(self._changes(left, right), left.ignored + right.ignored)

    def _changes(self, left: JoinedSide, right: JoinedSide) -> Iterator[pa.Table]:
        for kind in (RowKind.DELETE, RowKind.INSERT):
            for meeting in _find_meetings(kind, left, right):
                yield from self._pairs(kind, meeting)

    def _pairs(self, kind: RowKind, meeting: _Meeting) -> Iterator[pa.Table]:
        for left, right in _places(meeting):
            before = meeting.left.before.take(left) * meeting.right.before.take(right)
            after = meeting.left.after.take(left) * meeting.right.after.take(right)
            times = (before - after if kind is RowKind.DELETE else after - before).clip(0)
            if self._spec.expires:
                times[(before == after) & (after > 0)] = 1
            times[~_have_equal_keys(self._spec, meeting, left, right)] = 0
            for left_rows, right_rows in _repeat(left, right, times):
                yield self._table(kind, meeting, left_rows, right_rows)

    def _table(self, kind: RowKind, meeting: _Meeting, left: Places, right: Places) -> pa.Table:
        spec = self._spec
        columns = [
            *meeting.left.rows.select(spec.left.columns).take(pa.array(left)).columns,
            *meeting.right.rows.select(spec.right.columns).take(pa.array(right)).columns,
            pa.repeat(pa.scalar(kind, pa.int8()), len(left)),
        ]
        return pa.table(columns, [*spec.left.columns, *spec.right.columns, KIND]).cast(spec.output_schema)


def counts_of(spec: JoinOperator, name: str, parts: Parts) -> pl.DataFrame:
    """What the batch adds to the counts of a side's rows, each row once."""
    rows = parts[name] if name in parts else spec.part_schema(name).empty_table()
    if spec.appends(name):
        return pl.DataFrame(rows).with_columns(pl.lit(1, dtype=pl.Int64).alias(COUNT))
    return sum_counts(pl.DataFrame(rows), spec.side(name).columns, keeps_zero=spec.expires)


def _find_meetings(kind: RowKind, left: JoinedSide, right: JoinedSide) -> Iterator[_Meeting]:
    """Written with stored rows, and written rows with each other: each pair that may be given comes up once."""
    ours, theirs = Keys.of(left.written.rows), Keys.of(right.written.rows)
    goes, comes = left.written.may_give(kind), right.written.may_give(kind)
    for stored in right.find(ours) if goes else ():
        found = stored.begin < stored.end
        own = (ours.begin[found], ours.end[found])
        yield _Meeting(left.written, stored.rows, own, (stored.begin[found], stored.end[found]))
    for stored in left.find(theirs) if comes else ():
        found = stored.begin < stored.end
        own = (theirs.begin[found], theirs.end[found])
        yield _Meeting(stored.rows, right.written, (stored.begin[found], stored.end[found]), own)
    if goes and comes:
        _, here, there = np.intersect1d(ours.low, theirs.low, assume_unique=True, return_indices=True)
        both = (ours.begin[here], ours.end[here]), (theirs.begin[there], theirs.end[there])
        yield _Meeting(left.written, right.written, *both)


def _places(meeting: _Meeting) -> Iterator[tuple[Places, Places]]:
    """All pairs of places in the ranges that meet, in portions."""
    (left_begin, left_end), (begin, end) = meeting.left_ranges, meeting.right_ranges
    lengths = left_end - left_begin
    left = np.repeat(left_begin - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    partners, first = np.repeat(end - begin, lengths), np.repeat(begin, lengths)
    ends = np.cumsum(partners)
    starts = ends - partners
    total = int(partners.sum())
    for start in range(0, total, _LARGEST_TABLE):
        stop = min(start + _LARGEST_TABLE, total)
        here = slice(np.searchsorted(ends, start, side="right"), np.searchsorted(starts, stop))
        low = np.maximum(starts[here], start)
        number = np.minimum(ends[here], stop) - low
        offset = first[here] + (low - starts[here]) - (np.cumsum(number) - number)
        yield np.repeat(left[here], number), np.repeat(offset, number) + np.arange(number.sum())


def _have_equal_keys(spec: JoinOperator, meeting: _Meeting, left: Places, right: Places) -> NDArray[np.bool_]:
    """Other keys may have the same upper half of a hash."""
    names = [str(number) for number in range(len(spec.left.keys))]
    left_keys = meeting.left.rows.select(spec.left.keys).rename_columns(names)
    right_keys = meeting.right.rows.select(spec.right.keys).rename_columns(names)
    return keys_equal(left_keys, left, right_keys, right, names)


def _repeat(left: Places, right: Places, times: Places) -> Iterator[tuple[Places, Places]]:
    if not times.all() or times.max(initial=1) > 1:
        left, right = np.repeat(left, times), np.repeat(right, times)
    for start in range(0, len(left), _LARGEST_TABLE):
        yield left[start : start + _LARGEST_TABLE], right[start : start + _LARGEST_TABLE]
