"""(group, upsert key) -> row and its arrival: rows that replace the previous one with the same upsert key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from millstream.kernels.entries import GROUP, ID, MISSED, NUMBER, SIGN, VALUE, VALUE_HASH, EntryTable, Moves, entry_hash
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.state.state_table import StateTable


class LatestRows(EntryTable):
    """A row that replaces another one moves to the end, as the latest to arrive.

    `upsert_key` has the columns of the upsert key that are not part of the group's key.
    """

    def __init__(self, upsert_key: Sequence[str], table: StateTable) -> None:
        super().__init__(table)
        self._columns = [ID, *upsert_key]

    def update(self, events: pl.DataFrame, _: pl.DataFrame) -> Moves:
        """`events` are signed rows with their `__group`, `__value_hash` and `__number`."""
        one = [GROUP, *self._columns]
        hashed = events.sort(NUMBER).with_columns(entry_hash(pl.col(HASH), pl.col(VALUE_HASH)).alias(HASH))
        last = hashed.unique(one, keep="last", maintain_order=True)
        found = self._table.lookup(last.select(HASH, *self._columns).to_arrow())
        known = pl.Series(found.mask)
        there = last[SIGN] > 0
        written = last.filter(known | there)
        rows = written.select(HASH, *self._columns, NUMBER, VALUE, (pl.col(SIGN) < 0).alias(DEAD))
        self._table.put(rows.to_arrow(), replaced=int(found.mask.sum()))
        old = last.select(GROUP).with_columns(pl.Series(NUMBER, pl.DataFrame(found.values)[NUMBER]))
        missed = last.filter(~known & ~there).select(GROUP, pl.lit(1, dtype=pl.Int64).alias(MISSED))
        return Moves(last.filter(there).select(GROUP, VALUE, NUMBER), old.filter(known), missed)
