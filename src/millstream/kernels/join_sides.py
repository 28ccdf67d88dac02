"""The sides of an inner join: what a batch writes to each, and the stored rows that the other side's rows may meet.

Rows are sorted by the hashes they are stored by, so that those of a key are found by searching for its range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.changelog import RowKind
from millstream.kernels.changes import to_arrow
from millstream.kernels.entries import LOWER_HALF, numbers_of
from millstream.kernels.multiset import COUNT
from millstream.kernels.row_counts import ROW_HASH, read_in_portions, sum_counts
from millstream.state.segment_search import as_numpy, matching_rows, sort_order
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from millstream.kernels.join import JoinOperator
    from millstream.kernels.operator import OpenTable
    from millstream.state.state_table import StateTable

    Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Sorted rows, with how often each is there before the batch and after it."""

    rows: pa.Table
    """With `__hash` and the columns of the side."""
    before: Numbers
    after: Numbers

    def may_give(self, kind: RowKind) -> bool:
        """Whether pairs with these rows can be among the changes of a kind: each was there before, or is there now."""
        return bool((self.before if kind is RowKind.DELETE else self.after).any())


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of rows that a batch writes, as far as hashes tell them apart."""

    begin: Numbers
    end: Numbers
    """Where the rows of each are among those that are written."""
    low: Numbers
    """The least hash that its rows are stored by."""

    @classmethod
    def of(cls, rows: pa.Table) -> Keys:
        upper = as_numpy(rows.column(HASH)) & ~LOWER_HALF
        begin = np.flatnonzero(np.append(True, upper[1:] != upper[:-1])) if len(upper) else np.empty(0, np.int64)
        return cls(begin, np.append(begin[1:], len(upper)) if len(upper) else begin, upper[begin])


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows that the batch does not write, and where those of each key begin and end."""

    rows: CountedRows
    begin: Numbers
    end: Numbers


class JoinedSide(Protocol):
    """Stored rows are those before the batch, even if they are looked at after it has been written."""

    @property
    def written(self) -> CountedRows: ...

    @property
    def ignored(self) -> int:
        """How many retractions found no row."""
        ...

    def find(self, keys: Keys) -> Iterator[StoredRows]:
        """A portion at a time: one key may have more rows than fit in memory."""
        ...

    def write(self) -> None: ...


def open_side(spec: JoinOperator, name: str, open_table: OpenTable, part: pa.Table | None) -> JoinedSide:
    """A side, with what a batch has for it."""
    rows = spec.part_schema(name).empty_table() if part is None else part
    kind = AppendedSide if spec.appends(name) else CountedSide
    return kind(spec, name, open_table(name), rows)


class AppendedSide:
    """Nothing is looked up, and an equal row is another row."""

    ignored = 0

    def __init__(self, spec: JoinOperator, name: str, table: StateTable, part: pa.Table) -> None:
        self._table, self._before = table, table.snapshot()
        rows, _ = _sort(part, spec.side(name).columns)
        self.written = CountedRows(rows, np.zeros(rows.num_rows, np.int64), np.ones(rows.num_rows, np.int64))

    def find(self, keys: Keys) -> Iterator[StoredRows]:
        for stored, begin, end in self._before.ranges(keys.low, keys.low | LOWER_HALF):
            counts = as_numpy(stored.column(COUNT))
            yield StoredRows(CountedRows(stored, counts, counts), begin, end)

    def write(self) -> None:
        _put(self._table, self.written)


class CountedSide:
    """Each row is looked up, and stored with its count."""

    def __init__(self, spec: JoinOperator, name: str, table: StateTable, part: pa.Table) -> None:
        self._table, self._before = table, table.snapshot()
        self._columns = list(spec.side(name).columns)
        if len(np.unique(as_numpy(part.column(ROW_HASH)))) < part.num_rows:
            summed = sum_counts(pl.DataFrame(part), self._columns, keeps_zero=spec.expires)
            part = to_arrow(summed, spec.part_schema(name))
        rows, order = _sort(part, self._columns)
        found = table.lookup(rows)
        before = numbers_of(found.values.column(COUNT), found.mask)
        after = before + as_numpy(part.column(COUNT)).take(order)
        self.ignored = int(-after.clip(max=0).sum())
        self.written = _select_written(CountedRows(rows, before, after.clip(0)), expires=spec.expires)

    def find(self, keys: Keys) -> Iterator[StoredRows]:
        for rows in read_in_portions(self._before, keys.low, keys.low | LOWER_HALF):
            stored = self._without_written(rows).combine_chunks()
            counts, hashes = as_numpy(stored.column(COUNT)), as_numpy(stored.column(HASH))
            begin, end = np.searchsorted(hashes, keys.low), np.searchsorted(hashes, keys.low | LOWER_HALF, side="right")
            yield StoredRows(CountedRows(stored, counts, counts), begin, end)

    def _without_written(self, stored: pa.Table) -> pa.Table:
        if not stored.num_rows:
            return stored
        first, last = as_numpy(stored.column(HASH).take(pa.array([0, stored.num_rows - 1])))
        own = self.written.rows.cast(stored.select([HASH, *self._columns]).schema)
        hashes = as_numpy(own.column(HASH))
        near = np.arange(np.searchsorted(hashes, first), np.searchsorted(hashes, last, side="right"))
        _, found = matching_rows(stored, own, near, self._columns)
        if not len(found):
            return stored
        stays = np.ones(stored.num_rows, dtype=bool)
        stays[found] = False
        return stored.filter(pa.array(stays))

    def write(self) -> None:
        _put(self._table, self.written)


def _sort(part: pa.Table, columns: tuple[str, ...] | list[str]) -> tuple[pa.Table, Numbers]:
    """The rows by the hashes they are stored by, and their order."""
    entries = (as_numpy(part.column(HASH)) & ~LOWER_HALF) | (as_numpy(part.column(ROW_HASH)) & LOWER_HALF)
    order = sort_order(entries)
    rows = part.select(columns).combine_chunks().take(pa.array(order))
    return pa.table([pa.array(entries.take(order)), *rows.columns], [HASH, *columns]), order


def _select_written(rows: CountedRows, *, expires: bool) -> CountedRows:
    """With a TTL, a row that is retracted and comes again is written again."""
    is_written = (rows.before != rows.after) | (expires & (rows.after > 0))
    if is_written.all():
        return rows
    return CountedRows(rows.rows.filter(pa.array(is_written)), rows.before[is_written], rows.after[is_written])


def _put(table: StateTable, written: CountedRows) -> None:
    counted = written.rows.append_column(COUNT, pa.array(written.after))
    rows = counted.append_column(DEAD, pa.array(written.after == 0))
    table.put(rows, replaced=int((written.before > 0).sum()))
