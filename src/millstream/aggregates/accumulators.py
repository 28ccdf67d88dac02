"""The state of one call, if a batch can be added to it without reading individual rows again.

COUNT, SUM and AVG are linear: an insert adds, a retraction subtracts. MIN, MAX, FIRST_VALUE and LAST_VALUE belong here
if no row is ever retracted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from millstream.aggregates.calls import OLD
from millstream.aggregates.libraries import pa, pl

if TYPE_CHECKING:
    from millstream.aggregates.calls import Call, Input

ROW_COUNT: Final = "__rows"
"""How many rows a group has."""


class CallColumns(Protocol):
    """A call's columns in the group's row, and its result computed from them."""

    @property
    def call(self) -> Call: ...

    @property
    def fields(self) -> tuple[pa.Field, ...]: ...

    def result(self, prefix: str) -> pl.Expr: ...


class Accumulator(CallColumns, Protocol):
    """Rows become partial columns; the partials of several batches are merged, and then added to the group's state."""

    def partial(self, rows: Input) -> list[pl.Expr]: ...

    def merge(self) -> list[pl.Expr]: ...

    def apply(self) -> list[pl.Expr]: ...

    def of_row(self, value: pl.Expr) -> list[pl.Expr]:
        """The state of one row alone."""
        ...

    def join(self) -> list[pl.Expr]:
        """The state of rows that follow one another, from those of the former, as `__old…`, and of the latter."""
        ...


def present(rows: Input) -> pl.Expr:
    """The number of added values minus the number of removed ones."""
    number = rows.value.count() if rows.sign is None else rows.sign.filter(rows.value.is_not_null()).sum()
    return number.cast(pl.Int64)


def add_to_old(name: str) -> pl.Expr:
    return (pl.col(name).fill_null(0) + pl.col(OLD + name).fill_null(0)).alias(name)


def count_one(value: pl.Expr) -> pl.Expr:
    """1, or 0 for NULL."""
    return value.is_not_null().cast(pl.Int64)


def extreme(values: pl.Expr, type_: pa.DataType, *, greatest: bool) -> pl.Expr:
    """NaN is the greatest number."""
    if not greatest:
        return values.min()
    return values.nan_max() if pa.types.is_floating(type_) else values.max()


def better(left: pl.Expr, right: pl.Expr, *, greatest: bool) -> pl.Expr:
    wins = left >= right if greatest else left <= right
    return pl.when(right.is_null() | wins).then(left).otherwise(right)


def polars_type(type_: pa.DataType) -> pl.DataType:
    return pl.Series(pa.array([], type_)).dtype
