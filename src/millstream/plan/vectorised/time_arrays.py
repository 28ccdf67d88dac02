"""Points in time on Arrow data, however far away.

Arrow counts years in 16 bits, and Python from 1 to 9999, but microseconds reach 290,000 years in both directions. The
calendar repeats after 400 years, weekdays included, so that a far point is computed with as one of the next centuries.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.values_to_texts import replace_odd
from millstream.plan.vectorised.evaluators import ExpressionError, to_array
from millstream.plan.vectorised.number_arrays import narrow_integers, nulls_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from millstream.plan.vectorised.evaluators import Datum

_PARTS: Final[dict[str, Callable[[pa.Array], pa.Array]]] = {
    "YEAR": pc.year,
    "QUARTER": pc.quarter,
    "MONTH": pc.month,
    "WEEK": pc.iso_week,
    "DAY": pc.day,
    "DOY": pc.day_of_year,
    "DOW": partial(pc.day_of_week, count_from_zero=False, week_start=7),
    "ISODOW": partial(pc.day_of_week, count_from_zero=False, week_start=1),
    "ISOYEAR": pc.iso_year,
    "HOUR": pc.hour,
    "MINUTE": pc.minute,
    "SECOND": pc.second,
}
PARTS: Final = frozenset(_PARTS)
_YEARS: Final = ("YEAR", "ISOYEAR")
_MONTHS_OF: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_MICROS_OF: Final = {
    "MILLISECOND": 1000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000, "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}  # fmt: skip
_CYCLE_YEARS: Final = 400
_CYCLE: Final = 146_097 * 86_400_000_000
_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
_TO_SECONDS: Final = len("2024-01-02 03:04:05")
_MOST_DIGITS: Final = 6
_GREATEST_YEAR: Final = 9999
_OVERFLOW: Final = "[DATETIME_OVERFLOW] A time is too far away."


def part_of_points(part: str, points: pa.Array) -> pa.Array:
    near, cycles = _bring_near(points)
    found = _PARTS[part](near).cast(pa.int64())
    return pc.add(found, pa.array(cycles * _CYCLE_YEARS)) if part in _YEARS and cycles.any() else found


def floor_points(unit: str, points: pa.Array) -> pa.Array:
    """Weeks begin on Sunday."""
    near, cycles = _bring_near(points)
    floor = pc.floor_temporal(near, unit=unit.lower(), week_starts_monday=False).cast(pa.int64())
    return _require_not_after(_numbers(floor) + cycles * _CYCLE, points)


def ceil_points(unit: str, points: pa.Array) -> pa.Array:
    """Weeks begin on Sunday."""
    floor = _floor(unit, points)
    micros, floors = _numbers(points.cast(pa.int64())), _numbers(floor.cast(pa.int64()))
    months = _MONTHS_OF.get(unit)
    if months is None:
        after = floors + _MICROS_OF[unit]
    else:
        cycles = np.floor_divide(floors, _CYCLE)
        near = (floors - cycles * _CYCLE).astype("datetime64[us]").astype("datetime64[M]") + months
        after = near.astype("datetime64[us]").astype(np.int64) + cycles * _CYCLE
    found = np.where(floors == micros, floors, after)
    if (found < micros).any():
        raise ExpressionError(_OVERFLOW)
    return pa.array(found, mask=nulls_of(points)).cast(points.type)


def _floor(unit: str, points: pa.Array) -> pa.Array:
    return truncate_points(_MICROS_OF[unit], points) if unit == "MILLISECOND" else floor_points(unit, points)


def truncate_points(unit: int, points: pa.Array) -> pa.Array:
    """To multiples of so many microseconds."""
    micros = _numbers(points.cast(pa.int64()))
    return _require_not_after(micros - np.mod(micros, unit), points)


def fraction_of_points(unit: int, count: int, points: pa.Array) -> pa.Array:
    micros = points.cast(pa.int64())
    return pa.array(_numbers(micros) // unit % count, mask=nulls_of(micros))


def count_units(unit: int, start: Datum, end: Datum) -> pa.Array:
    """Whole units, towards zero."""
    count = next(len(value) for value in (start, end) if isinstance(value, pa.Array))
    starts, ends = (to_array(value, count).cast(pa.int64()) for value in (start, end))
    first, last = _numbers(starts), _numbers(ends)
    difference = last - first
    is_wrapped = ((last ^ first) & (last ^ difference)) < 0
    whole = np.sign(difference) * (np.abs(difference) // unit)
    for at in np.flatnonzero(is_wrapped).tolist():
        exact = int(last[at]) - int(first[at])
        whole[at] = abs(exact) // unit * (1 if exact > 0 else -1)
    counted = pa.array(whole, mask=nulls_of(starts) | nulls_of(ends))
    return narrow_integers(pa.int32(), "BIGINT", "INT", False, counted)


def timestamp_texts(digits: int, points: pa.Array) -> pa.Array:
    """As in `2024-01-02 03:04:05.678`, with so many digits after the seconds."""
    micros = points.cast(pa.int64())
    texts = pc.cast(_bring_near(points)[0], pa.string())
    shown = pc.utf8_slice_codeunits(texts, 0, _TO_SECONDS + (min(digits, _MOST_DIGITS) + 1 if digits else 0))
    if digits > _MOST_DIGITS:
        shown = pc.binary_join_element_wise(shown, "0" * (digits - _MOST_DIGITS), "")
    return replace_odd(shown, _is_far(_numbers(micros)), micros, partial(_far_text, digits))


def _far_text(digits: int, micros: int) -> str:
    """Java marks a year of more than four digits, and one before the year 0."""
    cycle, near = divmod(micros, _CYCLE)
    moment = datetime(1970, 1, 1) + timedelta(microseconds=near)  # noqa: DTZ001
    year = moment.year + _CYCLE_YEARS * cycle
    sign = "-" if year < 0 else "+" if year > _GREATEST_YEAR else ""
    fraction = f".{moment:%f}".ljust(digits + 1, "0")[: digits + 1] if digits else ""
    return f"{sign}{abs(year):04d}-{moment:%m-%d %H:%M:%S}{fraction}"


def _bring_near(points: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Points without a zone, those that are far by whole cycles earlier or later, and by how many.

    Arrow would look a zone up in the system's files, even UTC.
    """
    micros = points.cast(pa.int64())
    numbers = _numbers(micros)
    far = _is_far(numbers)
    cycles: NDArray[np.int64] = np.where(far, np.floor_divide(numbers, _CYCLE), 0)
    if far.any():
        micros = pa.array(numbers - cycles * _CYCLE, mask=nulls_of(micros))
    return micros.cast(pa.timestamp("us")), cycles


def _is_far(micros: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (micros < _YEAR_1) | (micros >= _YEAR_10000)


def _require_not_after(micros: NDArray[np.int64], points: pa.Array) -> pa.Array:
    """What is rounded down is later than before only if it is beyond the first microsecond."""
    before = points.cast(pa.int64())
    if (micros > _numbers(before)).any():
        raise ExpressionError(_OVERFLOW)
    return pa.array(micros, mask=nulls_of(before)).cast(points.type)


def _numbers(array: pa.Array) -> Any:
    return array.fill_null(0).to_numpy()
