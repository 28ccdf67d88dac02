"""(group, value) -> which filters it passed: for DISTINCT of rows that are never retracted.

Nothing is counted, so a value that is seen again is not written again, unless state expires.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa

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
        keys = values[[ENTRY, ID, VALUE]].to_arrow().rename_columns([HASH, ID, VALUE])
        found = self._table.lookup(keys)
        known = {mark: found.values.column(mark).fill_null(fill_value=False).to_numpy() for mark in self._marks}
        seen = {mark: values[mark].to_numpy() for mark in self._marks}
        is_new = [seen[mark] & ~known[mark] for mark in self._marks]
        is_written = np.logical_or.reduce([np.full(values.height, self._table.expires), *is_new])
        for mark in self._marks:
            keys = keys.append_column(mark, pa.array(seen[mark] | known[mark]))
        written = keys.append_column(DEAD, pa.array(np.zeros(values.height, np.bool_)))
        written = written if is_written.all() else written.filter(pa.array(is_written))
        self._table.put(written, replaced=int((is_written & found.mask).sum()))
        moved = values[[GROUP, VALUE]]
        return [Moves(moved if each.all() else moved.filter(each), moved.clear()) for each in is_new]

    def of_filter(self, entries: pl.DataFrame, mark: str) -> pl.DataFrame:
        return entries.filter(pl.col(mark))
