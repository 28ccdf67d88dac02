"""Aggregate calls, and the types of their results as in Flink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from millstream.aggregates import AggregateFunction as Function

if TYPE_CHECKING:
    import polars as pl

OLD: Final = "__old"
"""Prefix of a group's columns as they were before the batch."""
VARIANCES: Final = frozenset({Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP, Function.STDDEV_SAMP})
EXTREMES: Final = frozenset({Function.MIN, Function.MAX})
ENDS: Final = frozenset({Function.FIRST_VALUE, Function.LAST_VALUE})
LISTS: Final = frozenset({Function.LISTAGG, Function.ARRAY_AGG})
_LARGEST_PRECISION: Final = 38
_SMALLEST_AVERAGE_SCALE: Final = 6


@dataclass(frozen=True, slots=True)
class Call:
    """One aggregate: `output` is the column of its result, `argument` that of its input.

    Rows count where `filter`, a boolean column, is true; None takes all rows.
    """

    output: str
    function: Function
    argument: str | None = None
    distinct: bool = False
    filter: str | None = None
    separator: str = ","

    def column(self, part: str) -> str:
        """A column of the group's row that belongs to this call."""
        return f"__{part}_{self.output}"

    @property
    def grows(self) -> bool:
        """Whether inserts alone need no single values. With DISTINCT, the last value is the last that was new."""
        return self.function in EXTREMES or (self.function in ENDS and not self.distinct)

    @property
    def keeps_nulls(self) -> bool:
        """ARRAY_AGG alone takes NULL for a value; all others pass over it."""
        return self.function is Function.ARRAY_AGG


@dataclass(frozen=True, slots=True)
class Input:
    """Rows of a group as an accumulator sees them: `value` is NULL where the row does not count."""

    value: pl.Expr
    sign: pl.Expr | None
    """1 for a row that comes, -1 for one that goes; None where all come."""
    order: pl.Expr | None = None


def sum_type(argument: pa.DataType) -> pa.DataType:
    """Wide enough to add up in."""
    if pa.types.is_decimal(argument):
        return pa.decimal128(_LARGEST_PRECISION, argument.scale)
    return pa.float64() if pa.types.is_floating(argument) else pa.int64()


def average_type(argument: pa.DataType) -> pa.DataType:
    """Numbers keep their type, so that AVG(INT) is an INT; decimals get at least six digits after the point."""
    if pa.types.is_decimal(argument):
        return pa.decimal128(_LARGEST_PRECISION, max(_SMALLEST_AVERAGE_SCALE, argument.scale))
    return argument


def result_type(function: Function, argument: pa.DataType | None) -> pa.DataType:
    if argument is None or function is Function.COUNT:
        return pa.int64()
    if function is Function.SUM:
        return sum_type(argument)
    if function is Function.AVG or function in VARIANCES:
        return average_type(argument)
    if function is Function.LISTAGG:
        return pa.string()
    if function is Function.ARRAY_AGG:
        return pa.list_(argument)
    return pa.map_(argument, pa.int32()) if function is Function.COLLECT else argument
