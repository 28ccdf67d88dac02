"""Arithmetic on Arrow data, and times moved by an interval."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_type
from millstream.plan.functions.results import decimal_digits
from millstream.plan.vectorised import number_arrays
from millstream.plan.vectorised.evaluators import Apply
from millstream.plan.vectorised.time_shifts import move_by_months, move_dates_by_months
from millstream.sql.types import APPROXIMATE, BIGINT, DOUBLE, INTEGERS, INTERVALS, TIMESTAMPS, TypeRoot, decimal

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.plan.vectorised.calls import VectorCall, VectorForm
    from millstream.plan.vectorised.evaluators import Datum, Evaluator

_MOST_DIGITS: Final = 38
_DAY: Final = 86_400_000_000


def add(left: Datum, right: Datum) -> pa.Array:
    return pc.add(left, right)


def subtract(left: Datum, right: Datum) -> pa.Array:
    return pc.subtract(left, right)


def multiply(left: Datum, right: Datum) -> pa.Array:
    return pc.multiply(left, right)


def negate(values: pa.Array) -> pa.Array:
    return pc.negate(values)


def absolute(values: pa.Array) -> pa.Array:
    return pc.abs(values)


def move_points(micros: int, points: pa.Array) -> pa.Array:
    moved = number_arrays.add_integers(points.cast(pa.int64()), pa.scalar(micros, pa.int64()))
    return moved.cast(points.type)


def move_dates(days: int, dates: pa.Array) -> pa.Array:
    return number_arrays.add_integers(dates.cast(pa.int32()), pa.scalar(days, pa.int32())).cast(pa.date32())


def _operation(of_integers: Callable[..., pa.Array], of_others: Callable[..., pa.Array], sign: int) -> VectorForm:
    """`sign`: how an interval moves a point in time; 0 if it does not."""

    def form(call: VectorCall) -> Evaluator:
        if any(type_.root in INTERVALS for type_ in call.given.types):
            return _move(call, sign)
        if call.result.root in INTEGERS:
            return Apply(of_integers, _as_result(call), can_fail=True)
        if call.result.root in APPROXIMATE:
            return Apply(of_others, _as_result(call))
        return Apply(of_others, _decimals(call, is_product=of_others is multiply))

    return form


def _as_result(call: VectorCall) -> tuple[Evaluator, Evaluator]:
    return call.as_type(0, call.result), call.as_type(1, call.result)


def _decimals(call: VectorCall, *, is_product: bool) -> tuple[Evaluator, Evaluator]:
    """Only where all digits of any result fit, so that none has to be rounded or left out."""
    if call.result.root is not TypeRoot.DECIMAL:
        raise call.obstacle(f"of {call.result.root}")
    (p1, s1), (p2, s2) = (decimal_digits(type_) for type_ in call.given.types)
    digits = p1 + p2 + 1 if is_product else max(p1 - s1, p2 - s2) + max(s1, s2) + 1
    if digits > _MOST_DIGITS:
        raise call.obstacle(f"with {digits} digits")
    return call.as_type(0, decimal(p1, s1)), call.as_type(1, decimal(p2, s2))


def _move(call: VectorCall, sign: int) -> Evaluator:
    at = 0 if call.given.types[0].root not in INTERVALS else 1
    point, interval = call.given.types[at], call.given.types[1 - at]
    length = call.given.values[1 - at]
    if not sign or not isinstance(length, int):
        raise call.obstacle("with such an interval")
    if interval.root is TypeRoot.INTERVAL_YEAR_MONTH:
        return _move_by_months(call, at, sign * length)
    micros = length
    if point.root in TIMESTAMPS:
        return Apply(partial(move_points, sign * micros), (call[at],), can_fail=True)
    if point.root is TypeRoot.DATE and micros % _DAY == 0:
        return Apply(partial(move_dates, sign * micros // _DAY), (call[at],), can_fail=True)
    raise call.obstacle(f"of {point.root} and an interval")


def _move_by_months(call: VectorCall, at: int, months: int) -> Evaluator:
    point = call.given.types[at]
    if point.root is TypeRoot.DATE:
        return Apply(partial(move_dates_by_months, months), (call[at],), can_fail=True)
    if point.root in TIMESTAMPS:
        return Apply(partial(move_by_months, months, pa.scalar(1)), (call[at],), can_fail=True)
    raise call.obstacle(f"of {point.root} and an interval")


def _quotient(call: VectorCall) -> Evaluator:
    if call.result.root in INTEGERS:
        return Apply(number_arrays.divide_integers, _as_result(call), can_fail=True)
    if call.result.root in APPROXIMATE:
        doubles = call.as_type(0, DOUBLE), call.as_type(1, DOUBLE)
        return Apply(partial(number_arrays.divide_floats, arrow_type(call.result)), doubles)
    raise call.obstacle(f"of {call.result.root}")


def _remainder(call: VectorCall) -> Evaluator:
    if call.result.root not in INTEGERS:
        raise call.obstacle(f"of {call.result.root}")
    function = partial(number_arrays.remainder_of_integers, arrow_type(call.result))
    return Apply(function, (call.as_type(0, BIGINT), call.as_type(1, BIGINT)), can_fail=True)


def _unary(of_integers: Callable[..., pa.Array], of_others: Callable[..., pa.Array]) -> VectorForm:
    def form(call: VectorCall) -> Evaluator:
        if call.result.root in INTERVALS:
            raise call.obstacle("of an interval")
        is_integer = call.result.root in INTEGERS
        return Apply(of_integers if is_integer else of_others, (call[0],), can_fail=is_integer)

    return form


FORMS: Final[dict[str, VectorForm]] = {
    "+": _operation(number_arrays.add_integers, add, 1),
    "-": _operation(number_arrays.subtract_integers, subtract, -1),
    "*": _operation(number_arrays.multiply_integers, multiply, 0),
    "/": _quotient,
    "%": _remainder,
    "MOD": _remainder,
    "unary -": _unary(number_arrays.negate_integers, negate),
    "ABS": _unary(number_arrays.absolute_integers, absolute),
}
