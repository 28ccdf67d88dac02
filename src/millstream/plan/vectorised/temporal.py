"""Parts of dates and times on Arrow data; the session's time zone is UTC, so a TIMESTAMP_LTZ is like a TIMESTAMP."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.values_to_texts import replace_odd
from millstream.plan.vectorised.conversions import convert
from millstream.plan.vectorised.evaluators import Apply, to_mask
from millstream.plan.vectorised.number_arrays import nulls_of
from millstream.plan.vectorised.time_arrays import (
    PARTS,
    count_units,
    fraction_of_points,
    part_of_points,
    timestamp_texts,
)
from millstream.plan.vectorised.time_shifts import move_by_months, move_by_units, move_times
from millstream.plan.vectorised.time_texts import dates_of_texts
from millstream.sql.types import INTEGERS, TIMESTAMPS, DataType, TypeRoot

if TYPE_CHECKING:
    from millstream.plan.vectorised.calls import VectorCall, VectorForm
    from millstream.plan.vectorised.evaluators import Evaluator

_FRACTIONS: Final = {"MILLISECOND": (1000, 1000), "MICROSECOND": (1, 1_000_000)}
"""Microseconds of a unit, and how many of them make a second."""
_PART_OF: Final = {
    "YEAR": "YEAR", "QUARTER": "QUARTER", "MONTH": "MONTH", "WEEK": "WEEK", "DAYOFYEAR": "DOY", "DAYOFMONTH": "DAY",
    "DAYOFWEEK": "DOW", "HOUR": "HOUR", "MINUTE": "MINUTE", "SECOND": "SECOND",
}  # fmt: skip
_MILLIS_OF: Final = {"HOUR": (3_600_000, 24), "MINUTE": (60_000, 60), "SECOND": (1000, 60), "MILLISECOND": (1, 1000)}
_MICROS_OF: Final = {
    "MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000, "WEEK": 604_800_000_000,
}  # fmt: skip
_MONTHS_OF: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_MICROS: Final = DataType(TypeRoot.TIMESTAMP, precision=6)
_YEAR_0, _YEAR_9999 = -62_167_219_200_000_000, 253_402_300_799_999_999
"""The years that Flink's instants lie in; what is beyond them is NULL."""
_RUN: Final = re.compile(r"([A-Za-z])\1*|.", re.DOTALL)
_AT: Final = {
    "yyyy": (0, 4), "MM": (5, 7), "dd": (8, 10), "HH": (11, 13), "mm": (14, 16), "ss": (17, 19), "SSS": (20, 23),
}  # fmt: skip
"""Where a part is in `2024-01-02 03:04:05.678`."""
_WIDTH: Final = len("2024-01-02 03:04:05.678")
_MILLIS_DIGITS: Final = 3


def seconds_of_point(points: pa.Array) -> pa.Array:
    micros = points.cast(pa.int64())
    return pa.array(_numbers(micros) // 1_000_000, mask=nulls_of(micros))


def part_of_time(unit: int, count: int, times: pa.Array) -> pa.Array:
    return pa.array(_numbers(times).astype(np.int64) // unit % count, mask=nulls_of(times))


def instants_of(unit: int, numbers: pa.Array) -> pa.Array:
    values = _numbers(numbers.cast(pa.int64()))
    fits = (values >= _YEAR_0 // unit) & (values <= _YEAR_9999 // unit)
    micros = np.where(fits, values, 0) * unit
    return pa.array(micros, mask=nulls_of(numbers) | ~fits).cast(pa.timestamp("us", tz="UTC"))


def format_points(pieces: tuple[tuple[int, int] | str, ...], points: pa.Array) -> pa.Array:
    texts = timestamp_texts(_MILLIS_DIGITS, points)
    parts = (piece if isinstance(piece, str) else pc.utf8_slice_codeunits(texts, *piece) for piece in pieces)
    formatted = pc.binary_join_element_wise(*parts, "")
    far = pc.greater(pc.utf8_length(texts), _WIDTH)
    return replace_odd(formatted, to_mask(far, len(texts)), texts, partial(_format_far, pieces))


def _format_far(pieces: tuple[tuple[int, int] | str, ...], text: str) -> str:
    """Of a year with more than four digits, and a sign."""
    more = len(text) - _WIDTH
    parts = (
        piece if isinstance(piece, str) else text[piece[0] + (more if piece[0] else 0) : piece[1] + more]
        for piece in pieces
    )
    return "".join(parts)


def _numbers(array: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    numbers: np.ndarray[tuple[int], np.dtype[np.int64]] = array.fill_null(0).to_numpy()
    return numbers


def _point(call: VectorCall, index: int) -> Evaluator:
    """A date as a timestamp."""
    type_ = call.given.types[index]
    if type_.root is TypeRoot.DATE:
        return call.as_type(index, _MICROS)
    if type_.root not in TIMESTAMPS:
        raise call.obstacle(f"of {type_.root}")
    return call[index]


def _part(call: VectorCall, part: str, index: int) -> Evaluator:
    if call.given.types[index].root is TypeRoot.TIME:
        return Apply(partial(part_of_time, *_MILLIS_OF[part]), (call[index],))
    point = _point(call, index)
    if part in PARTS:
        return Apply(partial(part_of_points, part), (point,))
    if part in _FRACTIONS:
        return Apply(partial(fraction_of_points, *_FRACTIONS[part]), (point,))
    if part == "EPOCH":
        return Apply(seconds_of_point, (point,))
    raise call.obstacle(f"of {part}")


def _extract(call: VectorCall) -> Evaluator:
    return _part(call, str(call.given.values[0]), 1)


def _named_part(part: str) -> VectorForm:
    return lambda call: _part(call, part, 0)


def _instant(call: VectorCall) -> Evaluator:
    digits = call.natural(1) if len(call) > 1 else 3
    if call.given.types[0].root not in INTEGERS or digits not in (0, 3, 6):
        raise call.obstacle(f"of {call.given.types[0].root}")
    return Apply(partial(instants_of, 10 ** (6 - digits)), (call[0],))


def _sum(call: VectorCall) -> Evaluator:
    unit, point = str(call.given.values[0]), call.given.types[2]
    if call.given.types[1].root is TypeRoot.NULL:
        raise call.obstacle("of NULL")
    if point.root is TypeRoot.TIME:
        by_day = unit not in _MILLIS_OF  # whole days later it is the same time
        return Apply(partial(move_times, 0 if by_day else _MILLIS_OF[unit][0]), (call[1], call[2]))
    both = call[1], _point(call, 2)
    months = _MONTHS_OF.get(unit)
    function = partial(move_by_units, _MICROS_OF[unit]) if months is None else partial(move_by_months, months)
    moved = Apply(function, both, can_fail=True)
    return convert(moved, _MICROS, call.result) if call.result.root is TypeRoot.DATE else moved


def _difference(call: VectorCall) -> Evaluator:
    unit = str(call.given.values[0])
    if unit not in _MICROS_OF:
        raise call.obstacle(f"in {unit}")
    return Apply(partial(count_units, _MICROS_OF[unit]), (_point(call, 1), _point(call, 2)), can_fail=True)


def _format(call: VectorCall) -> Evaluator:
    """Patterns of the usual parts, each in its usual width."""
    pieces = []
    for piece in (found[0] for found in _RUN.finditer(call.text(1))):
        if piece not in _AT and (piece.isalpha() or piece in "'[]{}#"):
            raise call.obstacle("with such a pattern")
        pieces.append(_AT.get(piece, piece))
    if all(isinstance(piece, str) for piece in pieces):
        raise call.obstacle("with such a pattern")
    return Apply(partial(format_points, tuple(pieces)), (_point(call, 0),))


def _read_date(call: VectorCall) -> Evaluator:
    if len(call) > 1:
        raise call.obstacle("with a pattern")
    return Apply(partial(dates_of_texts, True), (call[0],))


FORMS: Final[dict[str, VectorForm]] = {
    "EXTRACT": _extract,
    **{name: _named_part(part) for name, part in _PART_OF.items()},
    "TO_TIMESTAMP_LTZ": _instant,
    "TIMESTAMPADD": _sum,
    "TIMESTAMPDIFF": _difference,
    "DATE_FORMAT": _format,
    "TO_DATE": _read_date,
}
