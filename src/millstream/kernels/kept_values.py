"""MIN, MAX, FIRST_VALUE and LAST_VALUE of rows that can be retracted.

The group's row stores the leading value (the least, the greatest, the first or the last to arrive). Only if that one is
retracted, and the batch has no better one, are the group's entries read to find the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from millstream.aggregates.accumulators import better, extreme
from millstream.aggregates.calls import OLD
from millstream.aggregates.registry import aggregate_function
from millstream.kernels.entries import GROUP, NUMBER, VALUE

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.aggregates.calls import Call
    from millstream.aggregates.record import Leader
    from millstream.kernels.entries import Moves


@dataclass(frozen=True, slots=True)
class KeptValue:
    call: Call
    argument: pa.DataType

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        value = pa.field(self.call.column("value"), self.argument)
        return (value,) if self._is_by_value else (value, pa.field(self.call.column("number"), pa.int64()))

    def result(self, prefix: str) -> pl.Expr:
        return pl.col(prefix + self.call.column("value"))

    def step(
        self, frame: pl.DataFrame, moves: Moves, entries_of: Callable[[pl.DataFrame], pl.DataFrame]
    ) -> pl.DataFrame:
        """`entries_of` reads all entries of groups."""
        leads = [field.name for field in self.fields]
        old_lead, new_lead = pl.col(OLD + self._leading_column), pl.col("__new" + self._leading_column)
        frame = frame.join(self._find_leaders(moves.added, "__new"), on=GROUP, how="left").join(
            moves.removed.select(GROUP, self._order_column).unique().with_columns(pl.lit(value=True).alias("__lost")),
            left_on=[GROUP, OLD + self._leading_column],
            right_on=[GROUP, self._order_column],
            how="left",
        )
        lost = pl.col("__lost").fill_null(value=False)
        overtaken = new_lead.is_not_null() & (better(new_lead, old_lead, greatest=self._leader.greatest) == new_lead)
        orphans = frame.filter(lost & ~overtaken)
        found = self._find_leaders(entries_of(orphans) if orphans.height else moves.added.clear(), "__found")
        frame = frame.join(found, on=GROUP, how="left")
        columns = [
            pl.when(old_lead.is_null() | overtaken)
            .then(pl.col("__new" + name))
            .when(lost)
            .then(pl.col("__found" + name))
            .otherwise(pl.col(OLD + name))
            .alias(name)
            for name in leads
        ]
        return frame.with_columns(columns).drop(
            "__lost", *("__new" + n for n in leads), *("__found" + n for n in leads)
        )

    def _find_leaders(self, entries: pl.DataFrame, prefix: str) -> pl.DataFrame:
        """The leading entry of each group."""
        value, number = prefix + self.call.column("value"), prefix + self.call.column("number")
        if self._is_by_value:
            found = extreme(pl.col(VALUE), self.argument, greatest=self._leader.greatest)
            return entries.group_by(GROUP).agg(found.alias(value))
        arrival = pl.col(NUMBER)
        at = arrival.arg_max() if self._leader.greatest else arrival.arg_min()
        return entries.group_by(GROUP).agg(pl.col(VALUE).get(at).alias(value), arrival.get(at).alias(number))

    @property
    def _is_by_value(self) -> bool:
        return not self._leader.by_arrival

    @property
    def _order_column(self) -> str:
        return VALUE if self._is_by_value else NUMBER

    @property
    def _leading_column(self) -> str:
        return self.call.column("value" if self._is_by_value else "number")

    @property
    def _leader(self) -> Leader:
        leader = aggregate_function(self.call.function).leader
        assert leader is not None
        return leader
