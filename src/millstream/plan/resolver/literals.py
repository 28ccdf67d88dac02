"""What a literal is worth and of which type it is."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.plan.functions.results import NULL
from millstream.plan.typed import Constant
from millstream.sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    MAX_DECIMAL_PRECISION,
    TIMESTAMPS,
    DataType,
    TypeRoot,
    decimal,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.plan.typed import Typed

_INT_LIMIT, _BIGINT_LIMIT = 1 << 31, 1 << 63
_MICROS: Final = {
    "WEEK": 604_800_000_000, "DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000,
}  # fmt: skip
_MONTHS: Final = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_ORDER: Final = ("DAY", "HOUR", "MINUTE", "SECOND")
_LIMITS: Final = {"HOUR": 24, "MINUTE": 60, "SECOND": 60}
INTERVAL_PARTS: Final = "After the first part, hours must be below 24, minutes and seconds below 60, months below 12."
_DATE: Final = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](.*))?)?)?")
_TIME: Final = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.\d*)?)?)?(?:[Z+\- A-Za-z].*)?")
_CLOCK: Final = re.compile(r"(\d{1,2})(?:\s*:\s*(\d{1,2})(?:\s*:\s*(\d{1,2})(?:\.(\d*))?)?)?", re.ASCII)
_MILLI_DIGITS: Final = 3
_LEAP_YEAR: Final = 2000
HOW_WRITTEN: Final = {
    TypeRoot.DATE: "DATE '2024-02-28'",
    TypeRoot.TIME: "TIME '13:14:15.678'",
    **dict.fromkeys(TIMESTAMPS, "TIMESTAMP '2024-02-28 13:14:15.678'"),
}
_SEPARATORS: Final = {"HOUR": " ", "MINUTE": ":", "SECOND": ":"}


def constant(node: exp.Expr) -> Constant | None:
    """None for what is no literal, or one that cannot be read."""
    match node:
        case exp.Literal():
            return _text(node.this) if node.is_string else _number(node.this)
        case exp.Boolean():
            return Constant(bool(node.this), BOOLEAN.not_null())
        case exp.Null():
            return Constant(None, NULL)
        case exp.HexString():
            value = bytes.fromhex(node.name if len(node.name) % 2 == 0 else f"0{node.name}")
            return Constant(value, DataType(TypeRoot.BINARY, nullable=False, precision=len(value)))
        case exp.Interval():
            return _interval(node)
        case _:
            return None


def negate(literal: Constant) -> Constant | None:
    if isinstance(literal.value, int | float | Decimal) and not isinstance(literal.value, bool):
        return Constant(-literal.value, literal.type)
    return None


def is_impossible(text: object, root: TypeRoot) -> bool:
    """Whether this text is surely no date, time or timestamp, as '2024-02-30'."""
    if not isinstance(text, str) or root not in HOW_WRITTEN:
        return False
    if root is TypeRoot.TIME:
        return _millis_of_day(text, 0) is None
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return text.strip()[:1] not in ("+", "-") and re.match(r"\s*\d{5,}-", text) is None
    try:
        dt.date(int(found[1]) or _LEAP_YEAR, int(found[2] or 1), int(found[3] or 1))
        if found[4] and root is not TypeRoot.DATE:
            time = _TIME.fullmatch(found[4])
            if time is None:
                return True
            hour, minute, second = (int(part or 0) for part in time.groups())
            dt.time(hour, minute, second)
    except ValueError:
        return True
    return False


def time_of(value: Typed, wanted: DataType) -> Constant | None:
    """The time that a literal text says, as far as the type has digits for it."""
    if not isinstance(value, Constant) or not isinstance(value.value, str):
        return None
    millis = _millis_of_day(value.value, wanted.precision or 0)
    return None if millis is None else Constant(millis, wanted.not_null())


def _millis_of_day(text: str, digits: int) -> int | None:
    found = _CLOCK.fullmatch(text.strip())
    if found is None:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    if hour >= _LIMITS["HOUR"] or minute >= _LIMITS["MINUTE"] or second >= _LIMITS["SECOND"]:
        return None
    fraction = (found[4] or "")[: min(digits, _MILLI_DIGITS)].ljust(_MILLI_DIGITS, "0")
    return ((hour * 60 + minute) * 60 + second) * 1000 + int(fraction)


def _text(value: str) -> Constant:
    return Constant(value, DataType(TypeRoot.CHAR, nullable=False, precision=len(value)))


def _number(text: str) -> Constant | None:
    if "e" in text.lower():
        return Constant(float(text), DOUBLE.not_null())
    value = Decimal(text)
    if "." not in text and int(value) < _BIGINT_LIMIT:
        return Constant(int(value), (INT if value < _INT_LIMIT else BIGINT).not_null())
    whole, _, fraction = text.partition(".")
    digits = max(len(whole.lstrip("0")) + len(fraction), 1)
    if digits > MAX_DECIMAL_PRECISION:
        return None
    return Constant(value, decimal(digits, len(fraction)).not_null())


def _interval(node: exp.Interval) -> Constant | None:
    unit, text = node.args["unit"], node.this.name
    span = isinstance(unit, exp.IntervalSpan)
    first, last = (unit.this.name, unit.expression.name) if span else (unit.name, unit.name)
    is_negative, text = text.startswith("-"), text.lstrip("+-")
    read: Callable[[str, str, str], int | None] = _months if first in _MONTHS else _microseconds
    value = read(text, first, last)
    if value is None:
        return None
    root = TypeRoot.INTERVAL_YEAR_MONTH if first in _MONTHS else TypeRoot.INTERVAL_DAY_TIME
    return Constant(-value if is_negative else value, DataType(root, nullable=False))


def _months(text: str, first: str, last: str) -> int | None:
    if first == last:
        return int(text) * _MONTHS[first] if text.isdigit() else None
    found = re.fullmatch(r"(\d+)-(\d+)", text) if (first, last) == ("YEAR", "MONTH") else None
    if found is None or int(found[2]) >= _MONTHS["YEAR"]:
        return None
    return int(found[1]) * _MONTHS["YEAR"] + int(found[2])


def _microseconds(text: str, first: str, last: str) -> int | None:
    units = (
        (first,) if first == last else _ORDER[_ORDER.index(first) : _ORDER.index(last) + 1] if last in _ORDER else ()
    )
    if not units or (first == "WEEK" and first != last):
        return None
    pattern = "".join(
        (_SEPARATORS[unit] if i else "") + (r"(\d+(?:\.\d+)?)" if unit == "SECOND" else r"(\d+)")
        for i, unit in enumerate(units)
    )
    found = re.fullmatch(pattern, text)
    if found is None or any(
        Decimal(amount) >= _LIMITS[unit] for amount, unit in zip(found.groups()[1:], units[1:], strict=True)
    ):
        return None
    return int(sum(Decimal(amount) * _MICROS[unit] for amount, unit in zip(found.groups(), units, strict=True)))
