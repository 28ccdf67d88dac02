"""Texts that are dates and times of day, read as Spark reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.plan.vectorised.evaluators import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable

_BLANKS: Final = "".join(map(chr, range(33))) + "\x7f"
"""What Spark ignores around a date."""
_DATE: Final = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIME: Final = re.compile(r"\s*([0-9]{1,2})(?:\s*:\s*([0-9]{1,2})(?:\s*:\s*([0-9]{1,2})(?:\.[0-9]*)?)?)?\s*", re.ASCII)
_MONTHS: Final = 12
_GREATEST_DAY: Final = (1 << 31) - 1
_HOURS, _SIXTY = 24, 60


def dates_of_texts(attempt: bool, texts: pa.Array) -> pa.Array:  # noqa: FBT001
    return _read(_read_date, "DATE", texts, attempt=attempt).cast(pa.date32())


def times_of_texts(attempt: bool, texts: pa.Array) -> pa.Array:  # noqa: FBT001
    """In milliseconds, of which those that are no whole seconds are left out."""
    return _read(_read_time, "TIME", texts, attempt=attempt)


def _read(read: Callable[[str], int | None], wanted: str, texts: pa.Array, *, attempt: bool) -> pa.Array:
    """Each text that occurs is read once; what cannot be read fails, or gives NULL."""
    occurring = pc.dictionary_encode(texts)
    numbers = pa.array([read(text) for text in occurring.dictionary.to_pylist()], pa.int32())
    found = numbers.take(occurring.indices)
    if not attempt and found.null_count > texts.null_count:
        unread = texts.filter(pc.and_(pc.is_null(found), pc.is_valid(texts)))[0]
        said = f'The value \'{unread}\' of the type "STRING" cannot be cast to "{wanted}" because it is malformed.'
        raise ExpressionError(f"[CAST_INVALID_INPUT] {said}")
    return found


def _read_date(text: str) -> int | None:
    """The days since 1970 of a year, a month or a day, behind which a time may stand that does not count."""
    found = _DATE.fullmatch(text.strip(_BLANKS))
    if found is None:
        return None
    sign, year, month, day = found[1], int(found[2]), int(found[3] or 1), int(found[4] or 1)
    if not 1 <= month <= _MONTHS:
        return None
    start = np.datetime64((-year if sign == "-" else year) * _MONTHS + month - 1 - 1970 * _MONTHS, "M")
    first, after = (int(each.astype("datetime64[D]").astype(np.int64)) for each in (start, start + 1))
    days = first + day - 1
    return days if first <= days < after and -_GREATEST_DAY - 1 <= days <= _GREATEST_DAY else None


def _read_time(text: str) -> int | None:
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups())
    if hour >= _HOURS or minute >= _SIXTY or second >= _SIXTY:
        return None
    return (hour * 3600 + minute * 60 + second) * 1000
