"""(group, value) -> count: for DISTINCT, MIN, MAX and COLLECT."""

from __future__ import annotations

from typing import Final

import polars as pl

from millstream.kernels.entries import ENTRY, GROUP, MISSED, VALUE, EntryTable, Moves, numbers_of
from millstream.state.state_table import DEAD, HASH

COUNT: Final = "__count"


class Multiset(EntryTable):
    """Counts never become negative: a value that does not exist cannot be retracted."""

    def update(self, weights: pl.DataFrame) -> Moves:
        """`weights` has each (group, value) once, with the change of its count in `__count`."""
        # Sorted hashes are found several times faster: neighbours are in the same pages of a segment.
        weights = weights.sort(ENTRY)
        keys = weights.select(pl.col(ENTRY).alias(HASH), *self._keys, VALUE).to_arrow()
        found = self._table.lookup(keys)
        before = pl.Series("__before", numbers_of(found.values.column(COUNT), found.mask))
        free = weights.with_columns(before).with_columns(pl.col(COUNT) + pl.col("__before"))
        counted = free.with_columns(pl.col(COUNT).clip(0))
        changed = counted.filter(pl.col(COUNT) != pl.col("__before"))
        written = changed.select(pl.col(ENTRY).alias(HASH), *self._keys, VALUE, COUNT, (pl.col(COUNT) == 0).alias(DEAD))
        self._table.put(written.to_arrow())
        return Moves(
            changed.filter(pl.col("__before") == 0).select(GROUP, VALUE),
            changed.filter(pl.col(COUNT) == 0).select(GROUP, VALUE),
            free.filter(pl.col(COUNT) < 0).select(GROUP, (-pl.col(COUNT)).alias(MISSED)),
        )
