"""(group, value) -> counts: for DISTINCT, MIN, MAX and COLLECT of rows that can be retracted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from millstream.kernels.entries import ENTRY, GROUP, ID, MISSED, VALUE, EntryTable, Moves, numbers_of
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.state.state_table import StateTable

COUNT: Final = "__count"
_BEFORE: Final = "__before"
_WAS_THERE: Final = "__was_there"


class Multiset(EntryTable):
    """Counts never become negative: a value that does not exist cannot be retracted.

    `counts` are the columns with the counts of a value, one per filter.
    """

    def __init__(self, table: StateTable, counts: Sequence[str]) -> None:
        super().__init__(table)
        self._counts = list(counts)

    def update(self, weights: pl.DataFrame) -> list[Moves]:
        """`weights` has each (group, value) once, with the changes of its counts. One result per filter."""
        found = self._table.lookup(weights.select(pl.col(ENTRY).alias(HASH), ID, VALUE).to_arrow())
        before = [
            pl.Series(_BEFORE + count, numbers_of(found.values.column(count), found.mask)) for count in self._counts
        ]
        free = weights.with_columns(*before, pl.Series(_WAS_THERE, found.mask)).with_columns(
            pl.col(name) + pl.col(_BEFORE + name) for name in self._counts
        )
        counted = free.with_columns(pl.col(self._counts).clip(0))
        changed = counted.filter(pl.any_horizontal(pl.col(name) != pl.col(_BEFORE + name) for name in self._counts))
        is_gone = pl.all_horizontal(pl.col(self._counts) == 0).alias(DEAD)
        written = changed.select(pl.col(ENTRY).alias(HASH), ID, VALUE, *self._counts, is_gone)
        self._table.put(written.to_arrow(), replaced=int(changed[_WAS_THERE].sum()))
        return [_moves(free, changed, name) for name in self._counts]

    def of_filter(self, entries: pl.DataFrame, count: str) -> pl.DataFrame:
        return entries.filter(pl.col(count) > 0).with_columns(pl.col(count).alias(COUNT))


def _moves(free: pl.DataFrame, changed: pl.DataFrame, count: str) -> Moves:
    is_there, was_there = pl.col(count) > 0, pl.col(_BEFORE + count) > 0
    return Moves(
        changed.filter(is_there & ~was_there).select(GROUP, VALUE),
        changed.filter(was_there & ~is_there).select(GROUP, VALUE),
        free.filter(pl.col(count) < 0).select(GROUP, (-pl.col(count)).alias(MISSED)),
    )
