"""Times moved by a number of units, which may be another in each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.plan.vectorised.evaluators import ExpressionError, to_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millstream.plan.vectorised.evaluators import Datum

_OVERFLOW: Final = "[DATETIME_OVERFLOW] A time is too far away."
_MICROS_PER_DAY: Final = 86_400_000_000
_MILLIS_PER_DAY: Final = 86_400_000
_DATES: Final = 1 << 31
_MOST_DAYS: Final = (1 << 63) // _MICROS_PER_DAY - 1


def move_by_units(unit: int, counts: Datum, points: Datum) -> pa.Array:
    """By so many times `unit` microseconds."""
    count = _length(counts, points)
    counts, points = to_array(counts, count), to_array(points, count)
    try:
        moved = pc.multiply_checked(counts.cast(pa.int64()), pa.scalar(unit, pa.int64()))
        return pc.add_checked(points.cast(pa.int64()), moved).cast(points.type)
    except pa.ArrowInvalid:
        raise ExpressionError(_OVERFLOW) from None


def move_by_months(months: int, counts: Datum, points: Datum) -> pa.Array:
    """By so many times `months`; a day that the month does not have is its last one."""
    count = _length(counts, points)
    counts, points = to_array(counts, count), to_array(points, count)
    nulls = pc.or_(pc.is_null(counts), pc.is_null(points)).to_numpy(zero_copy_only=False)
    micros = _numbers(points)
    days = np.floor_divide(micros, _MICROS_PER_DAY)
    moved = _later_days(days, np.where(nulls, 0, _numbers(counts)) * months)
    if (np.abs(moved) > _MOST_DAYS).any():
        raise ExpressionError(_OVERFLOW)
    return pa.array(moved * _MICROS_PER_DAY + micros - days * _MICROS_PER_DAY, mask=nulls).cast(points.type)


def move_dates_by_months(months: int, dates: pa.Array) -> pa.Array:
    """As `move_by_months`."""
    nulls = dates.is_null().to_numpy(zero_copy_only=False)
    moved = _later_days(_numbers(dates.cast(pa.int32())), months)
    if (np.abs(moved) >= _DATES).any():
        raise ExpressionError(_OVERFLOW)
    return pa.array(moved, mask=nulls).cast(pa.int32()).cast(pa.date32())


def _later_days(days: Any, months: Any) -> Any:
    month = days.astype("datetime64[D]").astype("datetime64[M]")
    day = days - _days_of(month)
    later = month + months
    return _days_of(later) + np.minimum(day, _days_of(later + 1) - _days_of(later) - 1)


def move_times(unit: int, counts: Datum, times: Datum) -> pa.Array:
    """By so many times `unit` milliseconds, round the clock."""
    count = _length(counts, times)
    counts, times = to_array(counts, count), to_array(times, count)
    nulls = pc.or_(pc.is_null(counts), pc.is_null(times)).to_numpy(zero_copy_only=False)
    return pa.array(np.mod(_numbers(times) + _numbers(counts) * unit, _MILLIS_PER_DAY), mask=nulls).cast(pa.int32())


def _days_of(months: NDArray[np.datetime64]) -> Any:
    return months.astype("datetime64[D]").astype(np.int64)


def _numbers(array: pa.Array) -> Any:
    return array.cast(pa.int64()).fill_null(0).to_numpy()


def _length(*values: Datum) -> int:
    return next(len(value) for value in values if isinstance(value, pa.Array))
