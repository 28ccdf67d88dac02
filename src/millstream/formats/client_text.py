"""Formats values as Flink's SQL client shows them in the table of a SELECT."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from millstream.formats import java_text
from millstream.formats.row_text import ValueStyle

_MICROS_PER_SECOND: Final = 1_000_000


def _bytes(value: bytes) -> str:
    return f"x'{value.hex()}'"


def _decimal(value: Any) -> str:
    return f"{value:f}"


def _time(micros: int) -> str:
    """Flink's TIME is a TIME(0): no fraction is shown, even if the value has one."""
    return _clock(micros).partition(".")[0]


def _timestamp(micros: int) -> str:
    days, time = divmod(micros, java_text.MICROS_PER_DAY)
    return f"{java_text.date_text(days)} {_clock(time)}"


def _day_time(micros: int) -> str:
    days, time = divmod(abs(micros), java_text.MICROS_PER_DAY)
    return f"{'-' if micros < 0 else '+'}{days} {_clock(time)}"


def _clock(micros: int) -> str:
    """The declared precision is not known here: milliseconds, or microseconds if there are any."""
    seconds, fraction = divmod(micros, _MICROS_PER_SECOND)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}." + f"{fraction:06}".removesuffix("000")


CLIENT: Final = ValueStyle(
    "(",
    ")",
    "NULL",
    (
        (pa.types.is_boolean, lambda value: "TRUE" if value else "FALSE"),
        (pa.types.is_float32, java_text.float_text),
        (pa.types.is_float64, java_text.double_text),
        (pa.types.is_decimal, _decimal),
        (pa.types.is_date32, java_text.date_text),
        (pa.types.is_time, _time),
        (pa.types.is_timestamp, _timestamp),
        (pa.types.is_duration, _day_time),
        (pa.types.is_binary, _bytes),
        (pa.types.is_large_binary, _bytes),
        (pa.types.is_fixed_size_binary, _bytes),
    ),
    has_local_time=True,
)
