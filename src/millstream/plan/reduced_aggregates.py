"""Aggregates that are sums and counts in another dress: AVG, variances and deviations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.plan.functions.results import average_of, bare
from millstream.sql.expression_parser import call, type_named
from millstream.sql.types import APPROXIMATE, BIGINT, DOUBLE, INTEGERS, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.sql.types import DataType

_COUNT_DIGITS: Final = "DECIMAL(20, 0)"


def reduced(
    function: str, argument: exp.Expr, type_: DataType, over: Callable[[exp.Anonymous], exp.Expr]
) -> exp.Expr | None:
    """The same value from SUM and COUNT; `over` puts DISTINCT and FILTER of the call back on each of them.

    Integers are summed as BIGINT and divided as integers, which is how Flink comes to integer results.
    """
    make = _REDUCTIONS.get(function)
    if make is None:
        return None
    wide = BIGINT if type_.root in INTEGERS else DOUBLE if type_.root in APPROXIMATE else None
    value = _cast(argument, bare(wide)) if wide is not None and type_.root is not wide.root else argument.copy()
    count: exp.Expr = over(call("COUNT", argument.copy()))
    if type_.root is TypeRoot.DECIMAL:
        count = _cast(count, _COUNT_DIGITS)

    def total(summed: exp.Expr) -> exp.Expr:
        return over(call("SUM", summed))

    return _cast(make(value, total, count), bare(average_of(type_)))


def _average(value: exp.Expr, total: Callable[[exp.Expr], exp.Expr], count: exp.Expr) -> exp.Expr:
    return exp.Div(this=total(value), expression=count)


def _variance(value: exp.Expr, total: Callable[[exp.Expr], exp.Expr], count: exp.Expr, *, sample: bool) -> exp.Expr:
    squares = total(exp.Mul(this=value.copy(), expression=value.copy()))
    squared_sum = exp.Mul(this=total(value.copy()), expression=total(value.copy()))
    spread = exp.Paren(this=exp.Sub(this=squares, expression=exp.Div(this=squared_sum, expression=count.copy())))
    if not sample:
        return exp.Div(this=spread, expression=count.copy())
    one_less = exp.Paren(this=exp.Sub(this=count.copy(), expression=exp.Literal.number(1)))
    return exp.Div(this=spread, expression=call("NULLIF", one_less, exp.Literal.number(0)))


def _deviation(value: exp.Expr, total: Callable[[exp.Expr], exp.Expr], count: exp.Expr, *, sample: bool) -> exp.Expr:
    return call("SQRT", _variance(value, total, count, sample=sample))


def _population(make: Callable[..., exp.Expr]) -> Callable[..., exp.Expr]:
    return lambda value, total, count: make(value, total, count, sample=False)


def _sample(make: Callable[..., exp.Expr]) -> Callable[..., exp.Expr]:
    return lambda value, total, count: make(value, total, count, sample=True)


_REDUCTIONS: Final[dict[str, Callable[..., exp.Expr]]] = {
    "AVG": _average,
    "VAR_POP": _population(_variance),
    "VAR_SAMP": _sample(_variance),
    "VARIANCE": _sample(_variance),
    "STDDEV_POP": _population(_deviation),
    "STDDEV_SAMP": _sample(_deviation),
    "STDDEV": _sample(_deviation),
}


def _cast(value: exp.Expr, type_: str) -> exp.Expr:
    return exp.Cast(this=value, to=type_named(type_))
