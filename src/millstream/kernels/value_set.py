"""(group, value) -> which filters it passed: for DISTINCT of rows that are never retracted.

Nothing is counted, so a value that is seen again is not written again, unless state expires.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from millstream.kernels.entries import ENTRY, GROUP, ID, VALUE, EntryTable, Moves
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.state.state_table import StateTable


class ValueSet(EntryTable):
    """`marks` are boolean columns, one per filter: whether a row with the value has passed it."""

    def __init__(self, table: StateTable, marks: Sequence[str]) -> None:
        super().__init__(table)
        self._marks = list(marks)

    def update(self, values: pl.DataFrame) -> list[Moves]:
        """`values` has each (group, value) once, with its marks. One result per filter."""
        found = self._table.lookup(values.select(pl.col(ENTRY).alias(HASH), ID, VALUE).to_arrow())
        known = pl.DataFrame(found.values).select(pl.col(self._marks).fill_null(value=False))
        is_new = [(values[mark] & ~known[mark]).alias(mark) for mark in self._marks]
        is_written = np.full(values.height, self._table.expires)
        for each in is_new:
            is_written |= each.to_numpy()
        marked = values.with_columns((values[mark] | known[mark]).alias(mark) for mark in self._marks)
        written = marked.select(
            pl.col(ENTRY).alias(HASH), ID, VALUE, *self._marks, pl.lit(value=False).alias(DEAD)
        ).filter(is_written)
        self._table.put(written.to_arrow(), replaced=int((is_written & found.mask).sum()))
        nothing = values.clear().select(GROUP, VALUE)
        return [Moves(values.select(GROUP, VALUE).filter(each), nothing) for each in is_new]

    def of_filter(self, entries: pl.DataFrame, mark: str) -> pl.DataFrame:
        return entries.filter(pl.col(mark))
