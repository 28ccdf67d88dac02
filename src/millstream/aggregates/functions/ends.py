"""FIRST_VALUE and LAST_VALUE, in order of arrival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.aggregates.calls import OLD
from millstream.aggregates.libraries import pa, pl
from millstream.aggregates.record import AggregateFunction, KeepsValues, Leader
from millstream.sql.functions import Nulls, Parameter, signature

if TYPE_CHECKING:
    from millstream.aggregates.calls import Call, Input


@dataclass(frozen=True, slots=True)
class End:
    """The first or the last value, if no row is retracted."""

    call: Call
    argument: pa.DataType
    is_last: bool

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field(self.call.column("value"), self.argument),)

    def partial(self, rows: Input) -> list[pl.Expr]:
        assert rows.order is not None
        there = rows.value.is_not_null()
        ordered = rows.order.filter(there)
        return [
            self._end(rows.value.filter(there), ordered).alias(self.call.column("value")),
            (ordered.max() if self.is_last else ordered.min()).alias(self.call.column("order")),
        ]

    def merge(self) -> list[pl.Expr]:
        value, order = pl.col(self.call.column("value")), pl.col(self.call.column("order"))
        there = value.is_not_null()
        return [self._end(value.filter(there), order.filter(there))]

    def apply(self) -> list[pl.Expr]:
        name = self.call.column("value")
        new, old = pl.col(name), pl.col(OLD + name)
        return [(pl.coalesce(new, old) if self.is_last else pl.coalesce(old, new)).alias(name)]

    def of_row(self, value: pl.Expr) -> list[pl.Expr]:
        return [value.alias(self.call.column("value"))]

    def join(self) -> list[pl.Expr]:
        return self.apply()

    def result(self, prefix: str) -> pl.Expr:
        return pl.col(prefix + self.call.column("value"))

    def _end(self, values: pl.Expr, orders: pl.Expr) -> pl.Expr:
        ordered = values.sort_by(orders)
        return ordered.last() if self.is_last else ordered.first()


def _end(name: str, *, is_last: bool) -> AggregateFunction:
    return AggregateFunction(
        name=name,
        signatures=(
            signature(
                Parameter("value"),
                gives=(lambda given: given.types[0].or_null(), "the value's type"),
                nulls=Nulls.ALWAYS,
            ),
        ),
        result_type=lambda argument: argument,
        accumulator=lambda call, argument: End(call, argument, is_last),
        leader=Leader(is_last, by_arrival=True),
        keeps_values=KeepsValues.FOR_RETRACTIONS,
        needs_order=True,
    )


FUNCTIONS: Final = (_end("FIRST_VALUE", is_last=False), _end("LAST_VALUE", is_last=True))
