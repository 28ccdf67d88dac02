"""row -> count: the rows of one side of a join, with those of a join key adjacent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.kernels.entries import ENTRY, LOWER_HALF, entry_hash, numbers_of
from millstream.kernels.multiset import COUNT
from millstream.state.segment_search import matching_rows
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.state.state_table import StateTable

ROW_HASH: Final = "__hash_row"
BEFORE: Final = "__before"
"""A row's count before the batch."""
AFTER: Final = "__after"
"""A row's count after the batch."""


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

    def __init__(self, columns: Sequence[str], table: StateTable, *, expires: bool, beside: Sequence[str] = ()) -> None:
        """`beside` are numbers that rows are stored with, beside their counts."""
        self._columns = list(columns)
        self._table = table
        self._expires = expires
        self._beside = list(beside)

    def apply(self, counts: pl.DataFrame) -> Written:
        """Adds `counts`, with each row once, to the stored counts; `write` stores the result."""
        summed = self.add(counts)
        return Written(summed.rows.filter(self.is_written), summed.ignored)

    def add(self, counts: pl.DataFrame) -> Written:
        """The same, with the rows whose count is as it was."""
        counts = counts.with_columns(entry_hash(pl.col(HASH), pl.col(ROW_HASH)).alias(ENTRY))
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

    def others(self, hashes: pl.Series, written: pl.DataFrame) -> pl.DataFrame:
        """The stored rows of these join keys, by their hashes, except those that the batch writes.

        They may include rows of another key whose hash has the same upper half.
        """
        low = np.unique(hashes.to_numpy() & ~LOWER_HALF)
        stored = self._table.scan(low, low | LOWER_HALF)
        keys = self._key_by_entry(written).to_arrow().cast(stored.select([HASH, *self._columns]).schema)
        _, found = matching_rows(stored, keys, np.arange(keys.num_rows), self._columns)
        stays = np.ones(stored.num_rows, dtype=bool)
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
