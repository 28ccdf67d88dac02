"""SUM and AVG: NULL if there is no value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.aggregates.accumulators import add_to_old, count_one, polars_type, present
from millstream.aggregates.exact_numbers import divide_half_up, divide_toward_zero
from millstream.aggregates.libraries import pa, pl
from millstream.aggregates.record import AggregateFunction
from millstream.sql.functions import NUMBER, Nulls, Parameter, signature
from millstream.sql.types import MAX_DECIMAL_PRECISION, DataType, TypeRoot, decimal

if TYPE_CHECKING:
    from millstream.aggregates.calls import Call, Input
    from millstream.sql.functions import Given

_LEAST_AVERAGE_SCALE: Final = 6


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum and the number of values, of which AVG is the quotient."""

    call: Call
    argument: pa.DataType
    averages: bool = False

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (
            pa.field(self.call.column("count"), pa.int64()),
            pa.field(self.call.column("sum"), sum_type(self.argument)),
        )

    def partial(self, rows: Input) -> list[pl.Expr]:
        value = rows.value if pa.types.is_decimal(self.argument) else rows.value.cast(self._wide)
        signed = value if rows.sign is None else pl.when(rows.sign > 0).then(value).otherwise(-value)
        return [present(rows).alias(self.call.column("count")), signed.sum().alias(self.call.column("sum"))]

    def merge(self) -> list[pl.Expr]:
        return [pl.col(field.name).sum() for field in self.fields]

    def apply(self) -> list[pl.Expr]:
        count, total = (add_to_old(field.name) for field in self.fields)
        # Without values there is no sum, so rounding errors of floats are not carried over.
        return [count, pl.when(count != 0).then(total).otherwise(0).alias(self.call.column("sum"))]

    def of_row(self, value: pl.Expr) -> list[pl.Expr]:
        number = value if pa.types.is_decimal(self.argument) else value.cast(self._wide)
        total = number.cast(polars_type(sum_type(self.argument)))
        return [count_one(value).alias(self.call.column("count")), total.alias(self.call.column("sum"))]

    def join(self) -> list[pl.Expr]:
        return [add_to_old(field.name) for field in self.fields]

    def result(self, prefix: str) -> pl.Expr:
        count = pl.col(prefix + self.call.column("count"))
        total = pl.col(prefix + self.call.column("sum"))
        if not self.averages:
            return pl.when(count > 0).then(total)
        number = pl.when(count > 0).then(count)
        if pa.types.is_decimal(self.argument):
            return divide_half_up(total, number, self.argument.scale, average_type(self.argument).scale)
        if pa.types.is_floating(self.argument):
            return (total / number).cast(polars_type(self.argument))
        return divide_toward_zero(total, number).cast(polars_type(self.argument), wrap_numerical=True)

    @property
    def _wide(self) -> pl.DataType:
        return pl.Float64() if pa.types.is_floating(self.argument) else pl.Int64()


def sum_type(argument: pa.DataType) -> pa.DataType:
    """Wide enough to add up in."""
    if pa.types.is_decimal(argument):
        return pa.decimal128(MAX_DECIMAL_PRECISION, argument.scale)
    return pa.float64() if pa.types.is_floating(argument) else pa.int64()


def average_type(argument: pa.DataType) -> pa.DataType:
    """Numbers keep their type, so that AVG(INT) is an INT; decimals get at least six digits after the point."""
    if pa.types.is_decimal(argument):
        return pa.decimal128(MAX_DECIMAL_PRECISION, max(_LEAST_AVERAGE_SCALE, argument.scale))
    return argument


def average_of(given: Given) -> DataType:
    """AVG has its argument's type, so that of integers is an integer; for a decimal it has all 38 digits."""
    [argument] = given.types
    if argument.root is TypeRoot.DECIMAL:
        return decimal(MAX_DECIMAL_PRECISION, max(_LEAST_AVERAGE_SCALE, argument.scale or 0))
    return argument.or_null()


def _sum_of(given: Given) -> DataType:
    """SUM has its argument's type; for a decimal it has all 38 digits."""
    [argument] = given.types
    if argument.root is TypeRoot.DECIMAL:
        return decimal(MAX_DECIMAL_PRECISION, argument.scale or 0)
    return argument.or_null()


_NUMBER: Final = Parameter("number", NUMBER)

FUNCTIONS: Final = (
    AggregateFunction(
        name="SUM",
        signatures=(signature(_NUMBER, gives=(_sum_of, "the number's type"), nulls=Nulls.ALWAYS),),
        result_type=sum_type,
        accumulator=Sum,
        widens=sum_type,
    ),
    AggregateFunction(
        name="AVG",
        signatures=(signature(_NUMBER, gives=(average_of, "the number's type"), nulls=Nulls.ALWAYS),),
        result_type=average_type,
        accumulator=lambda call, argument: Sum(call, argument, averages=True),
    ),
)
