"""Numbers on Arrow data: what Arrow computes differently from Spark, or not at all."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.plan.vectorised.evaluators import ExpressionError, to_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from millstream.plan.vectorised.evaluators import Datum

_OVERFLOW: Final = "[ARITHMETIC_OVERFLOW] The result is too large."
_MOST_DIGITS: Final = 38
_EXACT_DIGITS: Final = 15
"""A DOUBLE has all of so many, so that a division of two of them is only rounded once."""


def add_integers(left: Datum, right: Datum) -> pa.Array:
    return _check_overflow(pc.add_checked, left, right)


def subtract_integers(left: Datum, right: Datum) -> pa.Array:
    return _check_overflow(pc.subtract_checked, left, right)


def multiply_integers(left: Datum, right: Datum) -> pa.Array:
    return _check_overflow(pc.multiply_checked, left, right)


def negate_integers(numbers: pa.Array) -> pa.Array:
    return _check_overflow(pc.negate_checked, numbers)


def absolute_integers(numbers: pa.Array) -> pa.Array:
    return _check_overflow(pc.abs_checked, numbers)


def divide_integers(left: Datum, right: Datum) -> pa.Array:
    """Towards zero."""
    return _check_overflow(pc.divide_checked, left, right)


def remainder_of_integers(type_: pa.DataType, left: Datum, right: Datum) -> pa.Array:
    """With the sign of the left side."""
    count = _count(left, right)
    dividends, divisors = to_array(left, count), to_array(right, count)
    nulls = nulls_of(dividends) | nulls_of(divisors)
    divisor = np.where(nulls, 1, pc.fill_null(divisors, 1).to_numpy())
    if (divisor == 0).any():
        raise ExpressionError("[REMAINDER_BY_ZERO] Remainder by zero.")
    remainders = np.fmod(pc.fill_null(dividends, 0).to_numpy(), divisor)
    return pa.array(remainders, mask=nulls).cast(type_)


def divide_floats(type_: pa.DataType, left: Datum, right: Datum) -> pa.Array:
    """A number divided by zero is infinite, whatever the sign of the zero."""
    is_zero = pc.equal(right, pa.scalar(0.0, right.type))
    beyond = pc.multiply(left, pa.scalar(float("inf"), left.type))
    return pc.if_else(pc.fill_null(is_zero, fill_value=False), beyond, pc.divide(left, right)).cast(type_)


def floats_of_decimals(type_: pa.DataType, numbers: pa.Array) -> pa.Array:
    """The nearest ones, which Arrow's own cast does not always find."""
    if pa.types.is_float64(type_) and numbers.type.precision <= _EXACT_DIGITS:
        whole = pc.cast(pc.multiply(numbers, _power_of_ten(numbers.type.scale)), pa.int64())
        return pc.divide(pc.cast(whole, type_), pa.scalar(10.0**numbers.type.scale))
    return pc.cast(pc.cast(numbers, pa.string()), type_)


def _power_of_ten(exponent: int) -> pa.Scalar:
    return pa.scalar(Decimal(10) ** exponent, pa.decimal128(exponent + 1, 0))


def fit_decimals(precision: int, scale: int, numbers: pa.Array) -> pa.Array:
    """Rounds half up; a number with too many digits becomes NULL."""
    before = numbers.type
    if before.scale > scale:
        roomy = pa.decimal128(min(_MOST_DIGITS, before.precision + 1), before.scale)
        numbers = pc.round(pc.cast(numbers, roomy), ndigits=scale, round_mode="half_towards_infinity")
    whole_digits = precision - scale
    if whole_digits < numbers.type.precision - numbers.type.scale:
        limit = pa.scalar(Decimal(10) ** whole_digits, pa.decimal128(whole_digits + 1, 0))
        size = pc.abs(numbers)
        numbers = pc.if_else(pc.less(size, limit), numbers, pa.scalar(None, numbers.type))
    return pc.cast(numbers, pa.decimal128(precision, scale))


def require_decimals(precision: int, scale: int, numbers: pa.Array) -> pa.Array:
    fitting = fit_decimals(precision, scale, numbers)
    if fitting.null_count > numbers.null_count:
        value = numbers.filter(pc.and_(pc.is_null(fitting), pc.is_valid(numbers)))[0].as_py()
        said = f"{value:f} cannot be represented as Decimal({precision}, {scale})."
        raise ExpressionError(f"[NUMERIC_VALUE_OUT_OF_RANGE] {said}")
    return fitting


def narrow_integers(type_: pa.DataType, found: str, wanted: str, attempt: bool, numbers: pa.Array) -> pa.Array:  # noqa: FBT001
    limits = np.iinfo(type_.to_pandas_dtype())
    fits = pc.and_(pc.greater_equal(numbers, limits.min), pc.less_equal(numbers, limits.max))
    return _cast_fitting(numbers, fits, type_, (found, wanted), attempt=attempt)


def truncate_floats(type_: pa.DataType, found: str, wanted: str, attempt: bool, numbers: pa.Array) -> pa.Array:  # noqa: FBT001
    """Towards zero; like Java, the largest BIGINT takes in the number that is just too large for it."""
    limits = np.iinfo(type_.to_pandas_dtype())
    with np.errstate(invalid="ignore"):
        values = pc.fill_null(numbers, 0.0).to_numpy().astype(np.float64)
        fits = (np.floor(values) <= float(limits.max)) & (np.ceil(values) >= float(limits.min))
    _require(numbers, fits, (found, wanted), attempt=attempt)
    is_largest = values >= float(limits.max)
    whole = np.where(fits & ~is_largest, values, 0).astype(np.int64)
    return pa.array(np.where(is_largest, limits.max, whole), mask=nulls_of(numbers) | ~fits).cast(type_)


def _cast_fitting(
    numbers: pa.Array, fits: pa.Array, type_: pa.DataType, types: tuple[str, str], *, attempt: bool
) -> pa.Array:
    if pc.all(fits).as_py() is not False:
        return pc.cast(numbers, type_)
    _require(numbers, pc.fill_null(fits, fill_value=True).to_numpy(zero_copy_only=False), types, attempt=attempt)
    return pc.cast(pc.if_else(fits, numbers, pa.scalar(None, numbers.type)), type_)


def _require(numbers: pa.Array, fits: NDArray[np.bool_], types: tuple[str, str], *, attempt: bool) -> None:
    if attempt or fits.all():
        return
    value = numbers[int(np.flatnonzero(~fits)[0])].as_py()
    said = f'The value {value} of the type "{types[0]}" cannot be cast to "{types[1]}" due to an overflow.'
    raise ExpressionError(f"[CAST_OVERFLOW] {said}")


def _check_overflow(function: Callable[..., pa.Array], *arguments: Datum) -> pa.Array:
    try:
        return function(*arguments)
    except pa.ArrowInvalid as error:
        if "zero" in str(error):
            raise ExpressionError("[DIVIDE_BY_ZERO] Division by zero.") from None
        raise ExpressionError(_OVERFLOW) from None


def nulls_of(array: pa.Array) -> NDArray[np.bool_]:
    nulls: NDArray[np.bool_] = pc.is_null(array).to_numpy(zero_copy_only=False)
    return nulls


def _count(*values: Datum) -> int:
    return next(len(value) for value in values if isinstance(value, pa.Array))
