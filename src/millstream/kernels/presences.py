"""(group, value) -> count and first arrival: the order of arrival with DISTINCT.

A value's position is that of the row that added it when it was absent; further rows are only counted.
"""

from __future__ import annotations

import polars as pl

from millstream.kernels.entries import (
    GROUP,
    ID,
    MISSED,
    NUMBER,
    SIGN,
    VALUE,
    VALUE_HASH,
    EntryTable,
    Moves,
    entry_hash,
    numbers_of,
)
from millstream.kernels.multiset import COUNT
from millstream.state.state_table import DEAD, HASH


class Presences(EntryTable):
    def update(self, events: pl.DataFrame, _: pl.DataFrame) -> Moves:
        """`events` are signed rows with their `__group`, `__value_hash` and `__number`."""
        one = [GROUP, VALUE]
        hashed = events.with_columns(entry_hash(pl.col(HASH), pl.col(VALUE_HASH)).alias(HASH))
        values = hashed.unique(one)
        found = self._table.lookup(values.select(HASH, ID, VALUE).to_arrow())
        values = values.select(GROUP, HASH, ID, VALUE).with_columns(
            pl.Series("__before", numbers_of(found.values.column(COUNT), found.mask)),
            pl.Series("__since", numbers_of(found.values.column(NUMBER), found.mask)),
        )
        walked = (
            hashed.sort(NUMBER)
            .join(values.select(*one, "__before"), on=one, how="left", nulls_equal=True, maintain_order="left")
            .with_columns((pl.col(SIGN).cum_sum().over(one) + pl.col("__before")).alias("__free"))
            # A count of zero cannot be decreased: it stays zero until it increases again.
            .with_columns((-pl.col("__free").cum_min().over(one).clip(upper_bound=0)).alias(MISSED))
            .with_columns((pl.col("__free") + pl.col(MISSED)).alias(COUNT))
        )
        starts = (pl.col(SIGN) > 0) & (pl.col(COUNT) == 1)
        started = pl.col(NUMBER).filter(starts).last().alias("__started")
        ends = walked.group_by(one, maintain_order=True).agg(pl.col(COUNT, MISSED).last(), started)
        return self._move(values.join(ends, on=one, nulls_equal=True))

    def _move(self, values: pl.DataFrame) -> Moves:
        values = values.with_columns(pl.coalesce("__started", "__since").alias(NUMBER))
        columns = [HASH, ID, VALUE, COUNT, NUMBER]
        changed = values.filter((pl.col(COUNT) != pl.col("__before")) | (pl.col(NUMBER) != pl.col("__since")))
        written = changed.select(*columns, (pl.col(COUNT) == 0).alias(DEAD))
        self._table.put(written.to_arrow(), replaced=int((changed["__before"] > 0).sum()))
        there, was_there = pl.col(COUNT) > 0, pl.col("__before") > 0
        moved = pl.col(NUMBER) != pl.col("__since")
        return Moves(
            changed.filter(there & (~was_there | moved)).select(GROUP, VALUE, NUMBER),
            changed.filter(was_there & (~there | moved)).select(GROUP, VALUE, pl.col("__since").alias(NUMBER)),
            values.filter(pl.col(MISSED) > 0).select(GROUP, MISSED),
        )
