"""FLOOR, CEIL and ROUND on Arrow data, of numbers and of times."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.arrow_types import arrow_type
from millstream.plan.functions.results import decimal_digits
from millstream.plan.vectorised.conversions import convert
from millstream.plan.vectorised.evaluators import Apply
from millstream.plan.vectorised.time_arrays import ceil_points, floor_points, truncate_points
from millstream.sql.types import APPROXIMATE, INTEGERS, TIMESTAMPS, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.plan.vectorised.calls import VectorCall, VectorForm
    from millstream.plan.vectorised.evaluators import Evaluator

_MOST_DIGITS: Final = 38
_DAY: Final = 86_400_000
_MILLIS_OF: Final = {"HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000, "MILLISECOND": 1}
_BY_DAY: Final = ("MONTH", "QUARTER", "YEAR")
"""Of a point that is rounded up to one of these, Flink looks at the day alone."""
_MICROS: Final = DataType(TypeRoot.TIMESTAMP, precision=6)


def floor_floats(numbers: pa.Array) -> pa.Array:
    return pc.add(pc.floor(numbers), pa.scalar(0.0, numbers.type))  # minus zero becomes zero


def ceil_floats(numbers: pa.Array) -> pa.Array:
    return pc.add(pc.ceil(numbers), pa.scalar(0.0, numbers.type))


def floor_decimals(type_: pa.DataType, numbers: pa.Array) -> pa.Array:
    return pc.cast(pc.floor(_make_room(numbers)), type_)


def ceil_decimals(type_: pa.DataType, numbers: pa.Array) -> pa.Array:
    return pc.cast(pc.ceil(_make_room(numbers)), type_)


def round_decimals(digits: int, type_: pa.DataType, numbers: pa.Array) -> pa.Array:
    """Half up, away from zero."""
    return pc.cast(pc.round(_make_room(numbers), ndigits=digits, round_mode="half_towards_infinity"), type_)


def _make_room(numbers: pa.Array) -> pa.Array:
    """One digit more, for a carry."""
    return pc.cast(numbers, pa.decimal128(numbers.type.precision + 1, numbers.type.scale))


def floor_times(unit: int, times: pa.Array) -> pa.Array:
    return _to_times(pc.multiply(pc.divide(times, unit), unit))


def ceil_times(unit: int, times: pa.Array) -> pa.Array:
    """Midnight comes after the last unit of a day."""
    up = pc.multiply(pc.divide(pc.add(times, unit - 1), unit), unit)
    return _to_times(pc.if_else(pc.equal(up, _DAY), 0, up))


def _to_times(numbers: pa.Array) -> pa.Array:
    return numbers.cast(pa.int32())


def next_dates(dates: pa.Array) -> pa.Array:
    return pc.add(dates.cast(pa.int32()), pa.scalar(1, pa.int32())).cast(pa.date32())


def _round_number(
    call: VectorCall, of_floats: Callable[..., pa.Array], of_decimals: Callable[..., pa.Array]
) -> Evaluator:
    type_ = call.given.types[0]
    if type_.root in INTEGERS:
        return call[0]
    if type_.root in APPROXIMATE:
        return Apply(of_floats, (call[0],))
    precision, scale = decimal_digits(type_)
    if not scale:
        return call[0]
    if precision == _MOST_DIGITS:
        raise call.obstacle(f"with {precision + 1} digits")
    return Apply(partial(of_decimals, arrow_type(call.result)), (call[0],))


def _floor(call: VectorCall) -> Evaluator:
    if len(call) == 1:
        return _round_number(call, floor_floats, floor_decimals)
    unit, type_ = str(call.given.values[1]), call.given.types[0]
    if type_.root is TypeRoot.TIME:
        return Apply(partial(floor_times, _MILLIS_OF[unit]), (call[0],))
    return _of_point(call, lambda point: _floor_point(unit, point))


def _floor_point(unit: str, point: Evaluator) -> Evaluator:
    function = partial(truncate_points, 1000) if unit == "MILLISECOND" else partial(floor_points, unit)
    return Apply(function, (point,), can_fail=True)


def _ceil(call: VectorCall) -> Evaluator:
    if len(call) == 1:
        return _round_number(call, ceil_floats, ceil_decimals)
    unit, type_ = str(call.given.values[1]), call.given.types[0]
    if type_.root is TypeRoot.TIME:
        return Apply(partial(ceil_times, _MILLIS_OF[unit]), (call[0],))
    if type_.root is TypeRoot.DATE and unit == "DAY":
        return Apply(next_dates, (call[0],))

    def ceil(point: Evaluator) -> Evaluator:
        day = _floor_point("DAY", point) if unit in _BY_DAY else point
        return Apply(partial(ceil_points, unit), (day,), can_fail=True)

    return _of_point(call, ceil)


def _of_point(call: VectorCall, rounded: Callable[[Evaluator], Evaluator]) -> Evaluator:
    """A date is rounded as its midnight."""
    type_ = call.given.types[0]
    if type_.root is TypeRoot.DATE:
        return convert(rounded(call.as_type(0, _MICROS)), _MICROS, type_)
    if type_.root not in TIMESTAMPS:
        raise call.obstacle(f"of {type_.root}")
    return rounded(call[0])


def _round(call: VectorCall) -> Evaluator:
    """Spark rounds a double by its digits as a text, which Java writes in a way of its own."""
    type_, digits = call.given.types[0], call.literal(1) if len(call) > 1 else 0
    assert isinstance(digits, int)
    if type_.root in INTEGERS and digits >= 0:
        return call[0]
    if type_.root is not TypeRoot.DECIMAL:
        raise call.obstacle(f"of {type_.root}")
    precision, scale = decimal_digits(type_)
    if digits >= scale:
        return call[0]
    if precision == _MOST_DIGITS or -digits >= precision - scale:
        raise call.obstacle("with such an argument")
    return Apply(partial(round_decimals, digits, arrow_type(call.result)), (call[0],))


FORMS: Final[dict[str, VectorForm]] = {"FLOOR": _floor, "CEIL": _ceil, "ROUND": _round}
