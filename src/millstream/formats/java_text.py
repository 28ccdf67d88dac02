"""Parses and formats numbers, dates and times like Java, one value at a time."""

from __future__ import annotations

import base64
import codecs
import re
from calendar import isleap
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException
from math import isfinite, isnan
from typing import Final

import numpy as np
import pyarrow as pa

MICROS_PER_DAY: Final = 86_400_000_000
MILLIS_PER_DAY: Final = 86_400_000

_ASCII_TRIM: Final = "".join(map(chr, range(33)))
# Possessive: a long text that is not a number is scanned only once.
_INTEGER: Final = re.compile(r"[+-]?\d++")
_DECIMAL: Final = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?")
_FLOATING: Final = re.compile(
    r"([+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?)[fFdD]?|([+-]?)(NaN|Infinity)"
)
# Python's default context rounds to 28 digits. This one is wider than the longest number that Jackson accepts.
_EXACT: Final = Context(prec=2000, Emax=10**18 - 1, Emin=-(10**18) + 1)
_PLAIN_EXPONENTS: Final = range(-3, 7)
_SHOWN_DIGITS: Final = 40

# Jackson allows spaces before each group of four, nowhere else, and continues after one with padding.
_BASE64_GROUP: Final = r"[\x00-\x20]*+([A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/][A-Za-z0-9+/=]))"
_BASE64_GROUPS: Final = re.compile(_BASE64_GROUP)
_BASE64: Final = re.compile(rf"(?:{_BASE64_GROUP})*+")

_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")

_MONTH_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

_DATE_TEXT: Final = r"(-[0-9]{4,10}|\+[0-9]{5,10}|[0-9]{4})-([0-9]{2})-([0-9]{2})"
_TIME_TEXT: Final = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{0,9}))?"
_SHORT_TIME_TEXT: Final = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{0,9}))?)?"
_DATE: Final = re.compile(_DATE_TEXT)
_TIME: Final = re.compile(_TIME_TEXT)
_SHORT_TIME: Final = re.compile(_SHORT_TIME_TEXT)
_SQL_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_GREGORIAN_YEAR: Final = 1582
SQL_TIMESTAMP: Final = re.compile(f"{_DATE_TEXT} {_TIME_TEXT}")
SQL_TIMESTAMP_LTZ: Final = re.compile(f"{_DATE_TEXT} {_TIME_TEXT}Z")
ISO_TIMESTAMP: Final = re.compile(f"{_DATE_TEXT}[Tt]{_SHORT_TIME_TEXT}")
ISO_TIMESTAMP_LTZ: Final = re.compile(f"{_DATE_TEXT}T{_SHORT_TIME_TEXT}Z")


def trim(text: str) -> str:
    """`String.trim`: removes everything up to the space character; other Unicode white space stays."""
    return text.strip(_ASCII_TRIM)


def encodable(text: str) -> str:
    """Java writes a lone surrogate as a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """Writes U+FFFD for bytes that are not UTF-8: where Python does, but one for a surrogate, and not three."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    surrogate = _SURROGATE.match(error.object, error.start)
    return "\ufffd", error.end if surrogate is None else surrogate.end()


AS_JAVA: Final = "millstream.java"
"""The name by which `bytes.decode` knows `replace_as_java`."""
codecs.register_error(AS_JAVA, replace_as_java)


def parse_base64(text: str) -> bytes:
    # A search for groups would start again at each space that is not followed by one.
    text = text.rstrip(_ASCII_TRIM)
    if _BASE64.fullmatch(text) is None:
        raise ValueError("not base64")
    return b"".join(map(base64.b64decode, _BASE64_GROUPS.findall(text)))


def parse_integer(text: str) -> int:
    if _INTEGER.fullmatch(text) is None:
        raise ValueError(text)
    return int(text)


def parse_double(text: str) -> float:
    number, special = _match_float(text)
    return special if number is None else float(number)


def parse_float(text: str) -> float:
    """The nearest 32-bit number; converting via 64 bits would round twice."""
    number, special = _match_float(text)
    if number is None:
        return special
    nearest: float = pa.scalar(number.removeprefix("+")).cast(pa.float32()).as_py()
    return nearest


def _match_float(text: str) -> tuple[str | None, float]:
    match = _FLOATING.fullmatch(text)
    if match is None:
        raise ValueError(text)
    number, sign, word = match.groups()
    return number, 0.0 if word is None else float(f"{sign}{word}")


def parse_decimal(text: str, precision: int, scale: int) -> Decimal | None:
    """Rounded half up to the scale; None if it then has too many digits."""
    if _DECIMAL.fullmatch(text) is None:
        raise ValueError(text)
    number = exact_decimal(text)
    if number.is_zero():
        return scale_decimal(0, scale)
    if number.adjusted() > precision - scale:
        return None
    rounded = number.quantize(scale_decimal(1, scale), ROUND_HALF_UP, _EXACT)
    if rounded.is_zero():
        return rounded.copy_abs()
    return None if rounded.adjusted() >= precision - scale else rounded


def exact_decimal(text: str) -> Decimal:
    """Raises ValueError for a number that no decimal can represent, such as 1e99999999999999999999."""
    try:
        return Decimal(text)
    except DecimalException:
        raise ValueError(f"the number {text[:_SHOWN_DIGITS]} is out of range") from None


def scale_decimal(unscaled: int, scale: int) -> Decimal:
    return Decimal(unscaled).scaleb(-scale, _EXACT)


def unscaled_value(value: Decimal, scale: int) -> int:
    return int(value.scaleb(scale, _EXACT))


def double_text(value: float) -> str:
    return _float_text(value, repr(value))


def float_text(value: float) -> str:
    return _float_text(value, str(np.format_float_scientific(np.float32(value))))


def _float_text(value: float, shortest: str) -> str:
    if not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if str(value).startswith("-") else "0.0"
    number = Decimal(shortest).normalize(_EXACT)
    if len(number.as_tuple().digits) == 1:
        # Java shows at least two digits, the nearest two: the smallest double is 4.9E-324, not 5E-324.
        number = Decimal(f"{value:.1e}").normalize(_EXACT)
    if (exponent := number.adjusted()) in _PLAIN_EXPONENTS:
        plain = format(number, "f")
        return plain if "." in plain else f"{plain}.0"
    sign, (first, *others), _ = number.as_tuple()
    return f"{'-' if sign else ''}{first}.{''.join(map(str, others)) or '0'}E{exponent}"


def stripped_decimal_text(value: Decimal) -> str:
    """`stripTrailingZeros().toString()`: 50.00 is 5E+1."""
    return str(value.normalize(_EXACT)) if value else "0"


def days_since_epoch(year: int, month: int, day: int) -> int:
    """Proleptic Gregorian, for any year."""
    shifted = year - (month <= 2)  # noqa: PLR2004
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


GREGORIAN_CUTOVER_GAP: Final = range(days_since_epoch(1582, 10, 5), days_since_epoch(1582, 10, 15))
"""The days that the change of calendars skipped."""


def date_text(days: int) -> str:
    """An ISO local date; a year of more than four digits has a sign."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = (shifted_month + 2) % 12 + 1
    year = era * 400 + year_of_era + (month <= 2)  # noqa: PLR2004
    sign = "-" if year < 0 else "+" if year > 9999 else ""  # noqa: PLR2004
    return f"{sign}{abs(year):04}-{month:02}-{day_of_year - (153 * shifted_month + 2) // 5 + 1:02}"


def timestamp_text(micros: int, separator: str) -> str:
    days, time = divmod(micros, MICROS_PER_DAY)
    seconds, fraction = divmod(time, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{date_text(days)}{separator}{clock}.{fraction:06}".rstrip("0").rstrip(".")


def parse_date(text: str) -> int:
    """Days since the epoch of an ISO local date."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    days = _resolve_date(*match.groups(), lenient=False)
    if not -(2**31) <= days < 2**31:
        raise ValueError(text)
    return days


def parse_sql_date(text: str) -> int:
    """`java.sql.Date.valueOf`, which turns 30 February into a day of March and skips the days of October 1582."""
    match = _SQL_DATE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    year, month, day = map(int, match.groups())
    if not (1 <= month <= 12 and 1 <= day <= 31):  # noqa: PLR2004
        raise ValueError(text)
    julian = year < _GREGORIAN_YEAR
    last = _MONTH_LENGTHS[month - 1] + (month == 2 and (year % 4 == 0 if julian else isleap(year)))  # noqa: PLR2004
    if day > last:
        month, day = month + 1, day - last
    if julian and (month, day) == (2, 29) and not isleap(year):
        raise ValueError(text)  # a day that only the Julian calendar has
    days = days_since_epoch(year, month, day)
    return days - 10 if days in GREGORIAN_CUTOVER_GAP else days


def parse_iso_time(text: str) -> int:
    """Milliseconds of the day of an ISO local time, whose seconds are optional."""
    match = _SHORT_TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return _whole_seconds(_resolve_time(*match.groups(), lenient=False))


def parse_time(text: str) -> int:
    """Milliseconds of the day."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return _whole_seconds(_resolve_time(*match.groups(), lenient=True) % MICROS_PER_DAY)


def _whole_seconds(micros: int) -> int:
    """Flink's columns are TIME(0), whatever precision is declared: the fraction is parsed and dropped."""
    return micros // 1_000_000 * 1000


def parse_timestamp(text: str, pattern: re.Pattern[str]) -> int:
    """Microseconds since the epoch. Only ISO_LOCAL_DATE_TIME is strict; Java resolves the others leniently."""
    match = pattern.fullmatch(text)
    if match is None:
        raise ValueError(text)
    lenient = pattern is not ISO_TIMESTAMP
    year, month, day, *time = match.groups()
    micros = _resolve_date(year, month, day, lenient=lenient) * MICROS_PER_DAY
    micros += _resolve_time(*time, lenient=lenient)
    if not -(2**63) <= micros < 2**63:
        raise ValueError(text)
    return micros


def _resolve_date(year_text: str, month_text: str, day_text: str, *, lenient: bool) -> int:
    year, month, day = int(year_text), int(month_text), int(day_text)
    if year == 0 and year_text.startswith("-"):
        raise ValueError(year_text)
    if not (1 <= month <= 12 and 1 <= day <= 31):  # noqa: PLR2004
        raise ValueError(f"{month}-{day}")
    last = _MONTH_LENGTHS[month - 1] + (month == 2 and isleap(year))  # noqa: PLR2004
    if day > last and not lenient:
        raise ValueError(f"{month}-{day}")
    return days_since_epoch(year, month, min(day, last))


def _resolve_time(
    hour_text: str, minute_text: str, second_text: str | None, fraction: str | None, *, lenient: bool
) -> int:
    hour, minute, second = int(hour_text), int(minute_text), int(second_text or 0)
    micros = int((fraction or "").ljust(6, "0")[:6])
    if lenient and hour == 24 and not (minute or second or int(fraction or 0)):  # noqa: PLR2004
        return MICROS_PER_DAY
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004
        raise ValueError(f"{hour}:{minute}:{second}")
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros
