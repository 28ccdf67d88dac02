"""Options as data: one declaration per key, from which checking, help and reference follow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable


T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


class Role(StrEnum):
    SOURCE = "source"
    SINK = "sink"
    BOTH = "source and sink"


@dataclass(frozen=True, slots=True)
class ConfigOption(Generic[T]):
    """What a user can write under one key of WITH."""

    key: str
    parse: Callable[[str], T]
    doc: str
    default: T | None = None
    role: Role = Role.BOTH


def text(value: str) -> str:
    if not value.strip():
        raise ValueError("the value is empty")
    return value


def text_list(value: str) -> tuple[str, ...]:
    """Items separated by `;`, blanks around them trimmed."""
    items = tuple(item.strip() for item in value.split(";"))
    if not all(items):
        raise ValueError("an item of the list is empty")
    return items


def integer(value: str) -> int:
    if not re.fullmatch(r"\s*-?\d+\s*", value):
        raise ValueError(f'"{value}" is not a whole number')
    return int(value)


def boolean(value: str) -> bool:
    lowered = value.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError(f'"{value}" is neither true nor false')
    return lowered == "true"


def one_of(enum: type[E]) -> Callable[[str], E]:
    """A parser for an enum's values in any case."""

    def parse(value: str) -> E:
        for member in enum:
            if member.value.lower() == value.strip().lower():
                return member
        raise ValueError(f'"{value}" is not one of {", ".join(member.value for member in enum)}')

    return parse
