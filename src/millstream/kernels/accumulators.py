"""What a group keeps for one call, where a batch can be added to it without looking at single rows again.

COUNT, SUM and AVG are linear: an insert adds, a retraction subtracts. Where no row is ever taken back,
MIN, MAX, FIRST_VALUE and LAST_VALUE are of this kind too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import polars as pl
import pyarrow as pa

from millstream.aggregates import AggregateFunction as Function
from millstream.kernels.calls import OLD, average_type, sum_type
from millstream.kernels.exact_numbers import divided_half_up, divided_toward_zero

if TYPE_CHECKING:
    from millstream.kernels.calls import Call, Input

ROW_COUNT: Final = "__rows"
"""How many rows a group has."""


class CallColumns(Protocol):
    """A call's columns in the group's row, and its result from them."""

    @property
    def call(self) -> Call: ...

    @property
    def fields(self) -> tuple[pa.Field, ...]: ...

    def result(self, prefix: str) -> pl.Expr: ...


class Accumulator(CallColumns, Protocol):
    """Rows become partial columns, partials of several batches one, and that one joins what the group had."""

    def partial(self, rows: Input) -> list[pl.Expr]: ...

    def merged(self) -> list[pl.Expr]: ...

    def applied(self) -> list[pl.Expr]: ...


@dataclass(frozen=True, slots=True)
class RowCount:
    """COUNT(*): the group counts its rows anyway."""

    call: Call

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return ()

    def partial(self, _: Input) -> list[pl.Expr]:
        return []

    def merged(self) -> list[pl.Expr]:
        return []

    def applied(self) -> list[pl.Expr]:
        return []

    def result(self, prefix: str) -> pl.Expr:
        return pl.col(prefix + ROW_COUNT)


@dataclass(frozen=True, slots=True)
class Count:
    call: Call

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field(self.call.column("count"), pa.int64()),)

    def partial(self, rows: Input) -> list[pl.Expr]:
        return [present(rows).alias(self.call.column("count"))]

    def merged(self) -> list[pl.Expr]:
        return [pl.col(field.name).sum() for field in self.fields]

    def applied(self) -> list[pl.Expr]:
        return [added(field.name) for field in self.fields]

    def result(self, prefix: str) -> pl.Expr:
        return pl.col(prefix + self.call.column("count"))


@dataclass(frozen=True, slots=True)
class Sum:
    """SUM and AVG: NULL where there is no value."""

    call: Call
    argument: pa.DataType

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

    def merged(self) -> list[pl.Expr]:
        return [pl.col(field.name).sum() for field in self.fields]

    def applied(self) -> list[pl.Expr]:
        count, total = (added(field.name) for field in self.fields)
        # No value left is no sum at all: what floats lost on the way is not carried on.
        return [count, pl.when(count != 0).then(total).otherwise(0).alias(self.call.column("sum"))]

    def result(self, prefix: str) -> pl.Expr:
        count = pl.col(prefix + self.call.column("count"))
        total = pl.col(prefix + self.call.column("sum"))
        if self.call.function is Function.SUM:
            return pl.when(count > 0).then(total)
        number = pl.when(count > 0).then(count)
        if pa.types.is_decimal(self.argument):
            return divided_half_up(total, number, self.argument.scale, average_type(self.argument).scale)
        if pa.types.is_floating(self.argument):
            return (total / number).cast(_polars_type(self.argument))
        return divided_toward_zero(total, number).cast(_polars_type(self.argument), wrap_numerical=True)

    @property
    def _wide(self) -> pl.DataType:
        return pl.Float64() if pa.types.is_floating(self.argument) else pl.Int64()


@dataclass(frozen=True, slots=True)
class GrowingExtreme:
    """MIN and MAX where no row is taken back."""

    call: Call
    argument: pa.DataType

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field(self.call.column("value"), self.argument),)

    def partial(self, rows: Input) -> list[pl.Expr]:
        return [extreme(self.call.function, rows.value, self.argument).alias(self.call.column("value"))]

    def merged(self) -> list[pl.Expr]:
        return [extreme(self.call.function, pl.col(self.call.column("value")), self.argument)]

    def applied(self) -> list[pl.Expr]:
        name = self.call.column("value")
        return [better(self.call.function, pl.col(OLD + name), pl.col(name)).alias(name)]

    def result(self, prefix: str) -> pl.Expr:
        return pl.col(prefix + self.call.column("value"))


@dataclass(frozen=True, slots=True)
class GrowingEnd:
    """FIRST_VALUE and LAST_VALUE where no row is taken back."""

    call: Call
    argument: pa.DataType

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        return (pa.field(self.call.column("value"), self.argument),)

    def partial(self, rows: Input) -> list[pl.Expr]:
        assert rows.order is not None
        there = rows.value.is_not_null()
        ordered = rows.order.filter(there)
        return [
            self._end(rows.value.filter(there), ordered).alias(self.call.column("value")),
            (ordered.min() if self._is_first else ordered.max()).alias(self.call.column("order")),
        ]

    def merged(self) -> list[pl.Expr]:
        value, order = pl.col(self.call.column("value")), pl.col(self.call.column("order"))
        there = value.is_not_null()
        return [self._end(value.filter(there), order.filter(there))]

    def applied(self) -> list[pl.Expr]:
        name = self.call.column("value")
        new, old = pl.col(name), pl.col(OLD + name)
        return [(pl.coalesce(old, new) if self._is_first else pl.coalesce(new, old)).alias(name)]

    def result(self, prefix: str) -> pl.Expr:
        return pl.col(prefix + self.call.column("value"))

    @property
    def _is_first(self) -> bool:
        return self.call.function is Function.FIRST_VALUE

    def _end(self, values: pl.Expr, orders: pl.Expr) -> pl.Expr:
        ordered = values.sort_by(orders)
        return ordered.first() if self._is_first else ordered.last()


def present(rows: Input) -> pl.Expr:
    """How many values come, less those that go."""
    number = rows.value.count() if rows.sign is None else rows.sign.filter(rows.value.is_not_null()).sum()
    return number.cast(pl.Int64)


def added(name: str) -> pl.Expr:
    return (pl.col(name).fill_null(0) + pl.col(OLD + name).fill_null(0)).alias(name)


def extreme(function: Function, values: pl.Expr, type_: pa.DataType) -> pl.Expr:
    """NaN is the greatest number."""
    if function is Function.MIN:
        return values.min()
    return values.nan_max() if pa.types.is_floating(type_) else values.max()


def better(function: Function, left: pl.Expr, right: pl.Expr) -> pl.Expr:
    wins = left <= right if function is Function.MIN else left >= right
    return pl.when(right.is_null() | wins).then(left).otherwise(right)


def _polars_type(type_: pa.DataType) -> pl.DataType:
    return pl.Series(pa.array([], type_)).dtype
