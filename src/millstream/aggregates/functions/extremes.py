"""MIN and MAX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.aggregates.accumulators import better, extreme
from millstream.aggregates.calls import OLD
from millstream.aggregates.libraries import pa, pl
from millstream.aggregates.record import AggregateFunction, KeepsValues, Leader
from millstream.sql.functions import ANY, Family, Nulls, Parameter, signature
from millstream.sql.types import NESTED

if TYPE_CHECKING:
    from millstream.aggregates.calls import Call, Input

_ORDERED: Final = Family("a value that has an order", ANY.roots - NESTED)


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or the greatest value, if no row is retracted."""

    call: Call
    argument: pa.DataType
    greatest: bool

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field(self.call.column("value"), self.argument),)

    def partial(self, rows: Input) -> list[pl.Expr]:
        return [extreme(rows.value, self.argument, greatest=self.greatest).alias(self.call.column("value"))]

    def merge(self) -> list[pl.Expr]:
        return [extreme(pl.col(self.call.column("value")), self.argument, greatest=self.greatest)]

    def apply(self) -> list[pl.Expr]:
        name = self.call.column("value")
        return [better(pl.col(OLD + name), pl.col(name), greatest=self.greatest).alias(name)]

    def of_row(self, value: pl.Expr) -> list[pl.Expr]:
        return [value.alias(self.call.column("value"))]

    def join(self) -> list[pl.Expr]:
        return self.apply()

    def result(self, prefix: str) -> pl.Expr:
        return pl.col(prefix + self.call.column("value"))


def _extreme(name: str, *, greatest: bool) -> AggregateFunction:
    return AggregateFunction(
        name=name,
        signatures=(
            signature(
                Parameter("value", _ORDERED),
                gives=(lambda given: given.types[0].or_null(), "the value's type"),
                nulls=Nulls.ALWAYS,
            ),
        ),
        result_type=lambda argument: argument,
        accumulator=lambda call, argument: Extreme(call, argument, greatest),
        leader=Leader(greatest),
        keeps_values=KeepsValues.FOR_RETRACTIONS,
    )


FUNCTIONS: Final = (_extreme("MIN", greatest=False), _extreme("MAX", greatest=True))
