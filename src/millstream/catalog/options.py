"""Options as data: one declaration per key, from which checks, help and reference follow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


class Role(StrEnum):
    SOURCE = "source"
    SINK = "sink"
    BOTH = "source and sink"


@dataclass(frozen=True, slots=True)
class OptionType(Generic[T]):
    """The type of a value: its name in the reference, and its parser."""

    name: str
    parse: Callable[[str], T]
    values: tuple[tuple[str, str], ...] = ()
    """For an ENUM: each value and its meaning."""

    def __call__(self, value: str) -> T:
        return self.parse(value)


@dataclass(frozen=True, slots=True)
class ConfigOption(Generic[T]):
    """An option that can be set in a WITH clause."""

    key: str
    parse: Callable[[str], T]
    """An OptionType, or a plain function that raises ValueError."""
    doc: str
    default: T | None = None
    role: Role = Role.BOTH
    needed: str = ""
    """When it must be set: "always", or the condition; empty for never."""
    example: str | None = None
    is_secret: bool = False
    legacy: tuple[str, ...] = ()
    """The name of the key in the `connector.type` dialect."""

    @property
    def type(self) -> OptionType[T]:
        if isinstance(self.parse, OptionType):
            return self.parse
        members = getattr(self.parse, "__members__", {})
        return OptionType("ENUM" if members else "STRING", self.parse, tuple((str(m), "") for m in members.values()))


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("the value is empty")
    return value


def _text_list(value: str) -> tuple[str, ...]:
    items = tuple(item.strip() for item in value.split(";"))
    if not all(items):
        raise ValueError("an item of the list is empty")
    return items


def _boolean(value: str) -> bool:
    lowered = value.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError(f'"{value}" is neither true nor false')
    return lowered == "true"


def _whole_number(bits: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not re.fullmatch(r"\s*[-+]?[0-9]+\s*", value):
            raise ValueError(f'"{value}" is not a whole number')
        number = int(value)
        if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            raise ValueError(f"{number} does not fit into {bits} bits")
        return number

    return parse


text: Final = OptionType("STRING", _text)
text_list: Final = OptionType("LIST", _text_list)
"""Items separated by `;`, without surrounding spaces."""
integer: Final = OptionType("INT", _whole_number(32))
long_integer: Final = OptionType("LONG", _whole_number(64))
boolean: Final = OptionType("BOOLEAN", _boolean)


def at_least(least: int, kind: OptionType[int] = integer) -> OptionType[int]:
    def parse(value: str) -> int:
        number = kind.parse(value)
        if number < least:
            raise ValueError(f"{number} is below {least}")
        return number

    return OptionType(kind.name, parse)


def one_of(enum: type[E], docs: Mapping[E, str] | None = None) -> OptionType[E]:
    """The values of an enum, case-insensitively."""

    def parse(value: str) -> E:
        for member in enum:
            if member.value.lower() == value.strip().lower():
                return member
        raise ValueError(f'"{value}" is not one of {", ".join(member.value for member in enum)}')

    return OptionType("ENUM", parse, tuple((member.value, (docs or {}).get(member, "")) for member in enum))


def _java_regex(value: str) -> str:
    try:
        python_regex(_text(value))
    except re.error as error:
        if not is_java_only(value):
            raise ValueError(f'"{value}" is not a regular expression: {error}') from None
    return value


def python_regex(pattern: str) -> re.Pattern[str]:
    """A Java pattern without features that only Java has, with its named groups in Python's syntax."""
    return re.compile(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", pattern))


def is_java_only(pattern: str) -> bool:
    """Whether only Java can compile the pattern, so that it cannot be checked before the job starts."""
    return bool(re.search(r"\\[pPQRXhHvVzG]|&&", pattern))


java_regex: Final = OptionType("REGEX", _java_regex)
