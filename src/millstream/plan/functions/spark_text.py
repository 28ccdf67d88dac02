"""Small pieces of Spark SQL that several functions are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.sql.functions import SparkCall

_WHOLE_UNITS: Final = {0: "seconds", 3: "millis"}
INFINITY: Final = "double('Infinity')"
NOT_A_NUMBER: Final = "double('NaN')"


def quote(text: str) -> str:
    """A string literal; Spark reads backslashes in it as escapes, and would put a variable in place of `${…}`."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{") + "'"


def field_of(row: str, name: str) -> str:
    return f"({row}).`{name.replace('`', '``')}`"


def valid_text(text: str) -> str:
    """With U+FFFD for what is not UTF-8, which Spark's texts may contain and Arrow's may not.

    A replacement of nothing goes through Java's strings, which is what Flink does; `make_valid_utf8` would write
    three marks for a surrogate, and Java one.
    """
    return f"regexp_replace({text}, '^', '')"


def to_common_type(form: str) -> Callable[[SparkCall], str]:
    """Of arguments of several types: each is made the result's type first."""
    return lambda call: form.format(
        *(call.as_type(i, call.result) for i in range(len(call.texts))),
        rest=", ".join(call.as_type(i, call.result) for i in range(len(call.texts))),
    )


def quotient(left: str, right: str) -> str:
    """Of doubles: Spark fails where IEEE 754 has an infinity."""
    return f"if({right} = 0, {left} * {INFINITY}, {left} / {right})"


def logarithm(number: str, name: str = "ln") -> str:
    """Spark's is NULL where IEEE 754 has an infinity, or nothing."""
    beyond = f"if({number} = 0, -{INFINITY}, if({number} < 0, {NOT_A_NUMBER}, NULL))"
    return f"coalesce({name}({number}), {beyond})"


def time_of_day(timestamp: str) -> str:
    """A TIME as it is carried, the milliseconds of the day, of an instant in UTC."""
    return f"CAST(pmod(unix_millis({timestamp}), 86400000L) AS INT)"


def truncate(text: str, digits: int, *, with_zone: bool) -> str:
    """A timestamp with at most so many fraction digits; Spark's have six."""
    if digits >= 6:  # noqa: PLR2004
        return text
    instant = text if with_zone else f"CAST({text} AS TIMESTAMP_LTZ)"
    if digits in _WHOLE_UNITS:
        cut = f"timestamp_{_WHOLE_UNITS[digits]}(unix_{_WHOLE_UNITS[digits]}({instant}))"
    else:
        unit = 10 ** (6 - digits)
        cut = f"timestamp_micros(unix_micros({instant}) - pmod(unix_micros({instant}), {unit}L))"
    return cut if with_zone else f"CAST({cut} AS TIMESTAMP_NTZ)"
