"""Limits the number of values in the rows of one message: a missing field costs its writer nothing, but is a NULL here.

An empty object in a list takes three bytes of a message, and becomes a row of all columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_VALUES: Final = 1 << 20
"""In addition to one for each byte of the message, which covers everything that it spells out."""


class TooManyValuesError(Exception):
    """Not a ValueError, which a lenient reader would attribute to a field: it concerns the whole message."""


class ValueCount:
    """Counts while a message is decoded, before the values are created."""

    def __init__(self) -> None:
        self._most = self._left = MOST_VALUES

    def begin(self, message: bytes) -> None:
        self._most = self._left = MOST_VALUES + len(message)

    def add(self, elements: int, width: int) -> None:
        self._left -= elements * width
        if self._left < 0:
            raise TooManyValuesError(
                f"Its rows have more than {self._most} values, with a NULL for each field that is missing"
            )


def width(type_: DataType) -> int:
    """The values of a type that take space even in a NULL: the fields of a ROW, but no elements of a list."""
    return row_width(field.type for field in type_.fields) if type_.root is TypeRoot.ROW else 1


def row_width(types: Iterable[DataType]) -> int:
    return max(1, sum(map(width, types)))


def widest_element(types: Iterable[DataType]) -> int:
    """Of all lists in the types, at any depth; 0 if there is none."""
    return max((_widest_element(type_) for type_ in types), default=0)


def _widest_element(type_: DataType) -> int:
    if type_.root is TypeRoot.ROW:
        return widest_element(field.type for field in type_.fields)
    if type_.element is None:
        return 0
    return max(width(type_.element), _widest_element(type_.element))
