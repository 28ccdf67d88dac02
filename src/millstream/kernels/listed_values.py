"""Results that need all values of their group: the group's entries are read each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from millstream.aggregates.calls import Entries
from millstream.aggregates.registry import aggregate_function
from millstream.kernels.entries import GROUP, NUMBER, VALUE
from millstream.kernels.multiset import COUNT

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.aggregates.calls import Call


@dataclass(frozen=True, slots=True)
class ListedValues:
    call: Call

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return ()

    def result(self, prefix: str) -> pl.Expr:
        return pl.col(prefix + self.call.column("value"))

    def read(self, frame: pl.DataFrame, entries: pl.DataFrame, prefix: str) -> pl.DataFrame:
        """Adds the result computed from these entries."""
        function, name = aggregate_function(self.call.function), prefix + self.call.column("value")
        assert function.reads is not None
        if self.call.distinct or function.needs_order:
            entries = entries.with_columns(pl.lit(1, dtype=pl.Int64).alias(COUNT))
        result = function.reads(self.call, Entries(pl.col(VALUE), pl.col(COUNT)))
        in_order = entries.sort(NUMBER if function.needs_order else VALUE).group_by(GROUP, maintain_order=True)
        frame = frame.join(in_order.agg(result.alias(name)), on=GROUP, how="left")
        return frame if function.of_nothing is None else frame.with_columns(pl.col(name).fill_null(function.of_nothing))
