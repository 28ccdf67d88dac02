"""LISTAGG, ARRAY_AGG and COLLECT: results as long as their group, so the group's entries are read for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from millstream.aggregates import AggregateFunction as Function
from millstream.kernels.entries import GROUP, NUMBER, VALUE
from millstream.kernels.multiset import COUNT

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.kernels.calls import Call


@dataclass(frozen=True, slots=True)
class ListedValues:
    call: Call

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return ()

    def result(self, prefix: str) -> pl.Expr:
        return pl.col(prefix + self.call.column("value"))

    def read(self, frame: pl.DataFrame, entries: pl.DataFrame, prefix: str) -> pl.DataFrame:
        """Adds the result as it follows from these entries; a group without any has NULL, or an empty multiset."""
        name = prefix + self.call.column("value")
        if self.call.function is Function.COLLECT:
            count = pl.lit(1) if self.call.distinct else pl.col(COUNT)
            pair = pl.struct(pl.col(VALUE).alias("key"), count.cast(pl.Int32).alias("value"))
            listed = entries.sort(VALUE).group_by(GROUP).agg(pair.alias(name))
            return frame.join(listed, on=GROUP, how="left").with_columns(pl.col(name).fill_null([]))
        in_order = entries.sort(NUMBER).group_by(GROUP, maintain_order=True)
        joins = self.call.function is Function.LISTAGG
        value = pl.col(VALUE).str.join(self.call.separator) if joins else pl.col(VALUE)
        return frame.join(in_order.agg(value.alias(name)), on=GROUP, how="left")
