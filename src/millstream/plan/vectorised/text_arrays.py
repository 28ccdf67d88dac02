"""Texts on Arrow data: what Arrow computes differently from Spark, or not at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.formats.values_to_texts import date_texts, replace_odd, rows_with
from millstream.plan.vectorised.evaluators import ExpressionError, TooLargeError
from millstream.plan.vectorised.time_arrays import timestamp_texts

if TYPE_CHECKING:
    from millstream.plan.vectorised.evaluators import Datum

MOST_BYTES: Final = 1 << 28
"""Of the texts of a batch. Arrow's offsets end at 2 GiB, and an encoder may make each text six times as long."""
_PLAIN_INTEGER: Final = r"^-?[0-9]{1,18}$"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_WITH_FRACTION: Final = re.compile(r"\s*([+-]?[0-9]+)\.[0-9]*\s*", re.ASCII)
_BLANKS: Final = "".join(map(chr, range(33))) + "\x7f"
"""What Spark ignores around a number."""
_LAST_ASCII: Final = 0x7F
_MOST_DIGITS: Final = 19
"""Of a BIGINT; Python refuses to read numbers of thousands of digits."""


def texts_of(digits: int, values: pa.Array) -> pa.Array:
    """`digits` are those of a timestamp's fraction."""
    if pa.types.is_boolean(values.type):
        return pc.if_else(values, "TRUE", "FALSE")
    if pa.types.is_date(values.type):
        return date_texts(values)
    if pa.types.is_timestamp(values.type):
        return timestamp_texts(digits, values)
    return pc.cast(values, pa.string())


def join(*texts: Datum) -> pa.Array:
    _require_room(_rows_of(texts), _bytes_of(texts))
    return pc.binary_join_element_wise(*texts, "")


def join_known(separator: str, *texts: Datum) -> pa.Array:
    """Leaves out NULLs; Arrow's own way of doing so loses rows that have nothing else."""
    separators = len(separator.encode()) * len(texts) * _rows_of(texts)
    _require_room(_rows_of(texts), _bytes_of(texts) + separators)
    pieces = (pc.fill_null(pc.binary_join_element_wise(separator, text, ""), "") for text in texts)
    return pc.utf8_slice_codeunits(pc.binary_join_element_wise(*pieces, ""), len(separator))


def replace(part: str, other: str, texts: pa.Array) -> pa.Array:
    """Arrow does not notice a result that is too large for its offsets."""
    growth = len(other.encode()) - len(part.encode())
    if growth > 0 and texts.nbytes * (growth + 1) > MOST_BYTES:
        found = pc.sum(pc.count_substring(texts, part)).as_py() or 0
        _require_room(len(texts), texts.nbytes + found * growth)
    return pc.replace_substring(texts, part, other)


def _require_room(rows: int, bytes_: int) -> None:
    if bytes_ > MOST_BYTES and rows > 1:
        raise TooLargeError


def _rows_of(texts: tuple[Datum, ...]) -> int:
    return max(len(text) for text in texts if isinstance(text, pa.Array))


def _bytes_of(texts: tuple[Datum, ...]) -> int:
    repeated = sum(len(text.as_buffer() or b"") for text in texts if isinstance(text, pa.Scalar))
    bytes_: int = sum(text.nbytes for text in texts if isinstance(text, pa.Array))
    return bytes_ + repeated * _rows_of(texts)


def fit_length(length: int, texts: pa.Array) -> pa.Array:
    return pc.utf8_slice_codeunits(texts, 0, length)


def pad_length(length: int, texts: pa.Array) -> pa.Array:
    _require_room(len(texts), texts.nbytes + length * len(texts))
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
    offsets = parts.offsets.to_numpy().astype(np.int64)
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
    digits = stripped.lstrip("+-0") or "0"
    if _INTEGER.fullmatch(stripped) is None or len(digits) > _MOST_DIGITS:
        return None
    number = -int(digits) if stripped.startswith("-") else int(digits)
    return number if least <= number <= greatest else None
