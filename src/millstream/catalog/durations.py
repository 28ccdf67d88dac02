"""Durations in options: `5 min`, `1s`, `100 ms`; a bare number is in milliseconds."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from millstream.catalog.options import OptionType

_UNITS: Final = (
    (("d", "day", "days"), timedelta(days=1)),
    (("h", "hour", "hours"), timedelta(hours=1)),
    (("min", "m", "minute", "minutes"), timedelta(minutes=1)),
    (("s", "sec", "secs", "second", "seconds"), timedelta(seconds=1)),
    (("", "ms", "milli", "millis", "millisecond", "milliseconds"), timedelta(milliseconds=1)),
    (("µs", "us", "micro", "micros", "microsecond", "microseconds"), timedelta(microseconds=1)),
)
_LENGTHS: Final = {label: length for labels, length in _UNITS for label in labels}
_NANOSECONDS: Final = ("ns", "nano", "nanos", "nanosecond", "nanoseconds")


def _duration(value: str) -> timedelta:
    match = re.fullmatch(r"\s*([0-9]+)\s*([a-zµ]*)\s*", value.lower())
    if match is None or match[2] not in (*_LENGTHS, *_NANOSECONDS):
        raise ValueError(f'"{value}" is not a duration such as 5 min, 1 s or 100 ms')
    count, unit = int(match[1]), match[2]
    try:
        return timedelta(microseconds=count // 1000) if unit in _NANOSECONDS else count * _LENGTHS[unit]
    except OverflowError:
        raise ValueError(f'"{value}" is longer than can be counted') from None


duration: Final = OptionType("DURATION", _duration)


def duration_text(length: timedelta) -> str:
    """In the largest unit of which it is a whole number.

    >>> duration_text(timedelta(minutes=90)), duration_text(timedelta(hours=48))
    ('90 min', '2 d')
    """
    labels, unit = next(
        (labels, unit) for labels, unit in _UNITS if not length % unit or unit == timedelta(microseconds=1)
    )
    return f"{length // unit} {next(filter(None, labels))}"
