"""row -> count: the rows of one side of a join, with those of a join key adjacent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.kernels.entries import ENTRY, LOWER_HALF, entry_hash, numbers_of
from millstream.kernels.multiset import COUNT
from millstream.kernels.portions import Portions
from millstream.state.segment_search import as_numpy, matching_rows
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from millstream.state.state_table import StateTable

ROW_HASH: Final = "__hash_row"
BEFORE: Final = "__before"
"""A row's count before the batch."""
AFTER: Final = "__after"
"""A row's count after the batch."""
_PORTION_ROWS: Final = 1 << 16
_PORTION_BYTES: Final = 8 << 20
"""Stored rows that are looked at together, at least one of the two if there are so many."""


def sum_counts(rows: pl.DataFrame, columns: Sequence[str], *, keeps_zero: bool) -> pl.DataFrame:
    """Merges equal rows, adding up their counts; rows with a count of zero are left out, unless `keeps_zero`."""
    repeated = rows[ROW_HASH].is_duplicated()
    if repeated.any():  # rows with different hashes differ: only the others are compared
        sums = rows.filter(repeated).group_by(HASH, ROW_HASH, *columns).agg(pl.col(COUNT).sum())
        rows = pl.concat([rows.filter(~repeated), sums])
    changed = rows if keeps_zero else rows.filter(pl.col(COUNT) != 0)
    return changed.rechunk()  # else Arrow may fail to take over maps, where one chunk is a slice


@dataclass(frozen=True, slots=True)
class Written:
    """The rows of a side that a batch wrote, with their counts before and after it."""

    rows: pl.DataFrame
    ignored: int
    """How many retractions found no row."""


class RowCounts:
    """Counts never become negative. Everything is read before anything is written."""

    def __init__(
        self,
        columns: Sequence[str],
        table: StateTable,
        *,
        expires: bool,
        beside: Sequence[str] = (),
        appends: bool = False,
    ) -> None:
        """`beside` are numbers that rows are stored with, beside their counts.

        `appends`: no row is ever retracted, so none has to be looked up. An equal one is another row.
        """
        self._columns = list(columns)
        self._table = table
        self._expires = expires
        self._beside = list(beside)
        self._appends = appends

    def apply(self, counts: pl.DataFrame) -> Written:
        """Adds `counts`, with each row once, to the stored counts; `write` stores the result."""
        summed = self.add(counts)
        return Written(summed.rows.filter(self.is_written), summed.ignored)

    def add(self, counts: pl.DataFrame) -> Written:
        """The same, with the rows whose count is as it was."""
        counts = counts.with_columns(entry_hash(pl.col(HASH), pl.col(ROW_HASH)).alias(ENTRY))
        if self._appends:
            none_before = pl.lit(0, dtype=pl.Int64).alias(BEFORE)
            return Written(counts.with_columns(none_before).rename({COUNT: AFTER}), 0)
        found = self._table.lookup(self._key_by_entry(counts).to_arrow())
        before = pl.Series(BEFORE, numbers_of(found.values.column(COUNT), found.mask))
        beside = [pl.Series(name, numbers_of(found.values.column(name), found.mask)) for name in self._beside]
        summed = counts.with_columns(before, *beside).with_columns((pl.col(BEFORE) + pl.col(COUNT)).alias(AFTER))
        missing = summed.select((-pl.col(AFTER)).clip(0).sum()).item()
        return Written(summed.drop(COUNT).with_columns(pl.col(AFTER).clip(0)), int(missing))

    @property
    def is_written(self) -> pl.Expr:
        """With a TTL, a row that is retracted and comes again is written again."""
        changes = pl.col(BEFORE) != pl.col(AFTER)
        return changes | (pl.col(AFTER) > 0) if self._expires else changes

    def others(self, hashes: pl.Series, written: pl.DataFrame) -> Portions[pl.DataFrame]:
        """The stored rows of these join keys, by their hashes, except those that the batch writes.

        They may include rows of another key whose hash has the same upper half. They are as they were when this was
        called, even if they are looked at later: one key may have more rows than fit in memory.
        """
        low = np.unique(hashes.to_numpy() & ~LOWER_HALF)
        table, keys = self._table.snapshot(), self._key_by_entry(written).to_arrow()
        return Portions(
            lambda: (self._others_of(rows, keys) for rows in read_in_portions(table, low, low | LOWER_HALF))
        )

    def _others_of(self, stored: pa.Table, keys: pa.Table) -> pl.DataFrame:
        if self._appends:
            others = pl.DataFrame(stored)
            return others.select(*self._columns, pl.col(COUNT).alias(BEFORE), pl.col(COUNT).alias(AFTER))
        keys = keys.cast(stored.select([HASH, *self._columns]).schema)
        stays = np.ones(stored.num_rows, dtype=bool)
        if stored.num_rows:
            ends = as_numpy(stored.column(HASH).take(pa.array([0, stored.num_rows - 1])))
            hashes = as_numpy(keys.column(HASH))
            _, found = matching_rows(
                stored, keys, np.flatnonzero((hashes >= ends[0]) & (hashes <= ends[1])), self._columns
            )
            stays[found] = False
        others = pl.DataFrame(stored.filter(pa.array(stays)))
        beside = [pl.col(HASH).alias(ENTRY), *map(pl.col, self._beside)] if self._beside else []
        return others.select(*self._columns, *beside, pl.col(COUNT).alias(BEFORE), pl.col(COUNT).alias(AFTER))

    def write(self, written: pl.DataFrame) -> None:
        count, is_dead = pl.col(AFTER).alias(COUNT), (pl.col(AFTER) == 0).alias(DEAD)
        rows = written.select(pl.col(ENTRY).alias(HASH), *self._columns, count, *self._beside, is_dead)
        self._table.put(rows.to_arrow(), replaced=int((written[BEFORE] > 0).sum()))

    def _key_by_entry(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.select(pl.col(ENTRY).alias(HASH), *self._columns)


def read_in_portions(table: StateTable, low: NDArray[np.int64], high: NDArray[np.int64]) -> Iterator[pa.Table]:
    """In portions that are worth joining by themselves; an empty one if there are no rows."""
    waiting = [table.scan(low[:0], high[:0])]
    for part in table.scan_in_parts(low, high):
        waiting.append(part)
        is_enough = sum(rows.num_rows for rows in waiting) >= _PORTION_ROWS
        if is_enough or sum(rows.nbytes for rows in waiting) >= _PORTION_BYTES:
            yield pa.concat_tables(waiting)
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting)
