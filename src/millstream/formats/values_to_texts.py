"""Converts columns of values to columns of texts, by vector operations; only odd values are written one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats import java_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_FIRST_PLAIN_DAY: Final = java_text.days_since_epoch(0, 1, 1)
_LAST_PLAIN_DAY: Final = java_text.days_since_epoch(9999, 12, 31)
_SEPARATOR_AT: Final = len("2024-01-02")
SUPPLEMENTARY_LEAD_BYTE: Final = 0xF0
"""The lowest first byte of a character that Java stores as two."""


def float_texts(array: pa.Array, write_odd: Callable[[str], str] = str) -> pa.Array:
    """Numbers as in Java's toString; those that are neither plain nor finite go through `write_odd`."""
    text_of = java_text.float_text if array.type == pa.float32() else java_text.double_text
    texts = pl.Series(array).cast(pl.String).to_arrow().cast(pa.string())
    size = np.abs(_numbers(array))
    odd = ~(((size >= 1e-3) & (size < 1e7)) | (size == 0))  # noqa: PLR2004
    return replace_odd(texts, odd & valid(array), array, lambda value: write_odd(text_of(value)))


def decimal_texts(array: pa.Array, *, plain: bool) -> pa.Array:
    """All digits of the scale, or without trailing zeros and with an exponent where Java has one."""
    texts = array.cast(pa.string())
    if plain:
        odd = pc.match_substring(texts, "E")
        return replace_odd(texts, _mask(odd), array, lambda value: format(value, "f"))
    tens = r"E|[0-9]0\.0+$" if array.type.scale else "[0-9]0$"
    odd = _mask(pc.match_substring_regex(texts, tens))
    if array.type.scale:
        texts = without_trailing_zeros(texts)
    return replace_odd(texts, odd, array, java_text.stripped_decimal_text)


def base64_texts(array: pa.Array) -> pa.Array:
    return pl.Series(array, dtype=pl.Binary).bin.encode("base64").to_arrow().cast(pa.string())


def date_texts(array: pa.Array) -> pa.Array:
    days = array.cast(pa.int32())
    return replace_odd(array.cast(pa.string()), _is_out_of_range(_numbers(days)), days, java_text.date_text)


def timestamp_texts(array: pa.Array, separator: str) -> pa.Array:
    micros = array.cast(pa.int64())
    numbers = _numbers(micros)
    unit = _coarsest_unit(numbers)
    texts = array.cast(pa.timestamp(unit)).cast(pa.string())
    if unit != "s":
        texts = without_trailing_zeros(texts)
    if separator != " ":
        texts = pc.binary_replace_slice(texts, _SEPARATOR_AT, _SEPARATOR_AT + 1, separator)
    far = _is_out_of_range(numbers // java_text.MICROS_PER_DAY)
    return replace_odd(texts, far, micros, lambda value: java_text.timestamp_text(value, separator))


def time_texts(array: pa.Array, *, fraction: bool) -> pa.Array:
    """`HH:mm:ss` of milliseconds of the day, with the fraction if there is one and it is wanted."""
    if not fraction:
        return pc.divide(array, pa.scalar(1000, pa.int32())).cast(pa.time32("s")).cast(pa.string())
    return without_trailing_zeros(array.cast(pa.time32("ms")).cast(pa.string()))


def without_trailing_zeros(texts: pa.Array) -> pa.Array:
    """Of texts that all have a fraction."""
    return pc.ascii_rtrim(pc.ascii_rtrim(texts, characters="0"), characters=".")


def rows_with(texts: pa.Array, is_special: Callable[[NDArray[np.uint8]], NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Which texts contain a special byte."""
    odd = np.zeros(len(texts), np.bool_)
    if not len(texts) or texts.buffers()[2] is None:
        return odd
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)
    data = np.frombuffer(texts.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    at = np.flatnonzero(is_special(data))
    if len(at):
        odd[np.searchsorted(offsets[1:], at + offsets[0], side="right")] = True
        odd &= valid(texts)
    return odd


def replace_odd(texts: pa.Array, odd: NDArray[np.bool_], values: pa.Array, write: Callable[[Any], str]) -> pa.Array:
    """The texts, with those of the odd values written one by one."""
    if not odd.any():
        return texts
    mask = pa.array(odd)
    written = pa.array([write(value) for value in values.filter(mask).to_pylist()], pa.string())
    return pc.replace_with_mask(texts, mask, written)


def valid(array: pa.Array) -> NDArray[np.bool_]:
    return _mask(array.is_valid())


def _coarsest_unit(micros: NDArray[np.int64]) -> str:
    if not (micros % 1000).any():
        return "ms" if (micros % 1_000_000).any() else "s"
    return "us"


def _is_out_of_range(days: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (days < _FIRST_PLAIN_DAY) | (days > _LAST_PLAIN_DAY)


def _numbers(array: pa.Array) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = pc.fill_null(array, 0).to_numpy()
    return numbers


def _mask(booleans: pa.Array) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = pc.fill_null(booleans, False).to_numpy(zero_copy_only=False)
    return mask
