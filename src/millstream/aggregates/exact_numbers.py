"""Exact arithmetic: variances from sums of products, and decimals by their unscaled numbers.

An argument is split into limbs of 32 bits. The sums of the limbs and of their products are linear (a retraction
subtracts) and fit into 128 bits for any number of rows; only a result combines them, with arbitrary-precision integers.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from millstream.aggregates.libraries import pa, pl
from millstream.sql.types import MAX_DECIMAL_PRECISION

if TYPE_CHECKING:
    from collections.abc import Sequence

_LIMB: Final = 1 << 32
_NARROW: Final = 18
"""Digits of a decimal that fit into 64 bits."""


def limb_count(argument: pa.DataType) -> int:
    return 4 if pa.types.is_decimal(argument) and argument.precision > _NARROW else 2


def limb_pairs(limbs: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(limbs) for j in range(i, limbs)]


def limb_expressions(value: pl.Expr, limbs: int) -> list[pl.Expr]:
    """From the lowest to the highest, which has the sign."""
    rest = value.to_physical().cast(pl.Int128)
    parts = []
    for _ in range(limbs - 1):
        parts.append(rest & (_LIMB - 1))
        rest = rest // _LIMB
    return [*parts, rest]


def squares(limb_sums: Sequence[int], product_sums: Sequence[int]) -> tuple[int, int]:
    """The sum and the sum of squares."""
    total = sum(part * _LIMB**place for place, part in enumerate(limb_sums))
    square = sum(
        part * (1 if i == j else 2) * _LIMB ** (i + j)
        for (i, j), part in zip(limb_pairs(len(limb_sums)), product_sums, strict=True)
    )
    return total, square


def variance(count: int, divisor: int, total: int, square: int, *, scale: int, digits: int, root: bool) -> int | None:
    """The result times 10 to the power of `digits`; `scale` is that of the argument.

    Decimals are rounded half up; for an integer argument (no scale, no digits) the result is truncated, as by a cast.
    """
    if count <= 0 or divisor == 0:
        return None
    above = max(count * square - total * total, 0)
    below: int = count * divisor * 10 ** (2 * scale)
    if digits == 0:
        return math.isqrt(above // below) if root else above // below
    if root:
        twice: int = math.isqrt(4 * above * 10 ** (2 * digits) // below)
        return (twice + 1) // 2
    rounded: int = (2 * above * 10**digits + below) // (2 * below)
    return rounded


def whole_numbers(numbers: pl.Series, type_: pl.DataType) -> pl.Series:
    """As Java casts a double: to the nearest INT or BIGINT, of which a narrower type takes the low bits."""
    wide = pl.Int64() if type_ == pl.Int64 else pl.Int32()
    limit = 2**63 if type_ == pl.Int64 else 2**31
    return numbers.clip(-limit, limit - 1).cast(wide).cast(type_, wrap_numerical=True)


def decimal_of(unscaled: int | None, scale: int) -> Decimal | None:
    """NULL if it does not fit into the digits of a DECIMAL, as in a cast."""
    if unscaled is None or abs(unscaled) >= 10**MAX_DECIMAL_PRECISION:
        return None
    return Decimal((int(unscaled < 0), tuple(int(digit) for digit in str(abs(unscaled))), -scale))


def divide_half_up(total: pl.Expr, count: pl.Expr, scale: int, digits: int) -> pl.Expr:
    """A decimal sum divided by a count, rounded half up to `digits` after the point; NULL if it does not fit."""
    unscaled = total.to_physical().cast(pl.Int128)
    size = pl.when(unscaled < 0).then(0 - unscaled).otherwise(unscaled)
    number = count.cast(pl.Int128)
    factor = 10 ** (digits - scale)
    whole = size // number
    fraction = (2 * factor * (size % number) + number) // (2 * number)
    fits = whole < pl.lit(10**MAX_DECIMAL_PRECISION // factor, dtype=pl.Int128)
    quotient = pl.when(fits).then(whole * factor + fraction)
    signed = pl.when(unscaled < 0).then(0 - quotient).otherwise(quotient)
    return signed.map_batches(
        lambda numbers: _as_decimal(numbers, digits), return_dtype=pl.Decimal(MAX_DECIMAL_PRECISION, digits)
    )


def divide_toward_zero(total: pl.Expr, count: pl.Expr) -> pl.Expr:
    floor = total // count
    return floor + ((total < 0) & (floor * count != total)).cast(pl.Int64)


def _as_decimal(unscaled: pl.Series, digits: int) -> pl.Series:
    """The same 128 bits, interpreted with a scale."""
    whole = unscaled.cast(pl.Decimal(MAX_DECIMAL_PRECISION, 0), strict=False).to_arrow()
    scaled = pa.Array.from_buffers(
        pa.decimal128(MAX_DECIMAL_PRECISION, digits), len(whole), whole.buffers(), offset=whole.offset
    )
    return pl.Series(unscaled.name, scaled)
