"""Texts on Arrow data: what Arrow computes differently from Spark, or not at all."""

from __future__ import annotations

import re
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.values_to_texts import date_texts, replace_odd, rows_with
from millstream.plan.vectorised.evaluators import ExpressionError

_PLAIN_INTEGER: Final = r"^-?[0-9]{1,18}$"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_WITH_FRACTION: Final = re.compile(r"\s*([+-]?[0-9]+)\.[0-9]*\s*", re.ASCII)
_BLANKS: Final = "".join(map(chr, range(33))) + "\x7f"
"""What Spark ignores around a number."""
_TO_SECONDS: Final = len("2024-01-02 03:04:05")
_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
_LAST_ASCII: Final = 0x7F


def texts_of(digits: int, values: pa.Array) -> pa.Array:
    """`digits` are those of a timestamp's fraction."""
    if pa.types.is_boolean(values.type):
        return pc.if_else(values, "TRUE", "FALSE")
    if pa.types.is_date(values.type):
        return date_texts(values)
    if pa.types.is_timestamp(values.type):
        return timestamp_texts(digits, values)
    return pc.cast(values, pa.string())


def timestamp_texts(digits: int, values: pa.Array) -> pa.Array:
    micros = values.cast(pa.int64())
    texts = pc.cast(micros.cast(pa.timestamp("us")), pa.string())
    numbers = pc.fill_null(micros, 0).to_numpy()
    far = (numbers < _YEAR_1) | (numbers >= _YEAR_10000)
    shown = pc.utf8_slice_codeunits(texts, 0, _shown_length(digits))
    return replace_odd(shown, far, micros, partial(_far_text, digits))


def _far_text(digits: int, micros: int) -> str:
    """Java counts the years before the first one backwards, and marks those of more than four digits."""
    date, _, clock = str(np.datetime64(micros, "us")).partition("T")
    year_text, month_and_day = date[:-6], date[-6:]
    year = int(year_text)
    shown = f"{1 - year:04d}" if year < 1 else f"+{year}"
    return f"{shown}{month_and_day} {clock[: _shown_length(digits) - len('2024-01-02 ')]}"


def _shown_length(digits: int) -> int:
    return _TO_SECONDS + (digits + 1 if digits else 0)


def fit_length(length: int, texts: pa.Array) -> pa.Array:
    return pc.utf8_slice_codeunits(texts, 0, length)


def pad_length(length: int, texts: pa.Array) -> pa.Array:
    return pc.utf8_rpad(fit_length(length, texts), length)


def upper(texts: pa.Array) -> pa.Array:
    return replace_odd(pc.ascii_upper(texts), rows_with(texts, _beyond_ascii), texts, str.upper)


def lower(texts: pa.Array) -> pa.Array:
    return replace_odd(pc.ascii_lower(texts), rows_with(texts, _beyond_ascii), texts, str.lower)


def _beyond_ascii(data: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return data > _LAST_ASCII


def part_of_split(separator: str, index: int, texts: pa.Array) -> pa.Array:
    """NULL where there are fewer parts, and of an empty text."""
    parts = pc.split_pattern(texts, separator)
    offsets = parts.offsets.to_numpy()
    at = offsets[:-1] + index
    missing = (at >= offsets[1:]) | pc.fill_null(pc.equal(texts, ""), fill_value=True).to_numpy(zero_copy_only=False)
    return parts.values.take(pa.array(at, mask=missing))


def integers_of_texts(type_: pa.DataType, wanted: str, attempt: bool, texts: pa.Array) -> pa.Array:  # noqa: FBT001
    """A fraction is cut off, and blanks around a number are ignored; what is no such number fails, or gives NULL."""
    limits = np.iinfo(type_.to_pandas_dtype())
    if pc.all(pc.match_substring_regex(texts, _PLAIN_INTEGER)).as_py() is not False:
        numbers = pc.cast(texts, pa.int64())
        fits = pc.and_(pc.greater_equal(numbers, limits.min), pc.less_equal(numbers, limits.max))
        if pc.all(fits).as_py() is not False:
            return pc.cast(numbers, type_)
    found = [None if text is None else _read_integer(text, limits.min, limits.max) for text in texts.to_pylist()]
    integers = pa.array(found, type_)
    if not attempt and integers.null_count > texts.null_count:
        unread = texts.filter(pc.and_(pc.is_null(integers), pc.is_valid(texts)))[0]
        said = f'The value \'{unread}\' of the type "STRING" cannot be cast to "{wanted}" because it is malformed.'
        raise ExpressionError(f"[CAST_INVALID_INPUT] {said}")
    return integers


def _read_integer(text: str, least: int, greatest: int) -> int | None:
    found = _WITH_FRACTION.fullmatch(text)
    stripped = text.strip(_BLANKS) if found is None else found[1]
    number = int(stripped) if _INTEGER.fullmatch(stripped) else None
    return number if number is not None and least <= number <= greatest else None
