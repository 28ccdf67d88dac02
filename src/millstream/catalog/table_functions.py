"""Table functions of the user's: a Python function that yields rows, read after FROM with LATERAL TABLE."""

from __future__ import annotations

import collections.abc
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from millstream.sql.types import DataType, Field, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

F = TypeVar("F", bound="Callable[..., Any]")

TABLE_DECLARED: Final = "__millstream_udtf__"
"""The attribute of a function that holds its declaration."""
GIVES_MANY: Final = (collections.abc.Iterator, collections.abc.Iterable, collections.abc.Generator)
"""The annotations of a result that is rows: the first argument of each is a row."""


@dataclass(frozen=True, slots=True)
class TableDeclaration:
    """What `@millstream.udtf` declares: types as SQL text."""

    arguments: tuple[str, ...]
    result_types: tuple[str, ...]


def udtf(*, arguments: Sequence[str], result_types: Sequence[str]) -> Callable[[F], F]:
    """Declares a function that yields rows: tuples, or plain values if they have one column.

    >>> @udtf(arguments=["STRING"], result_types=["STRING", "INT"])
    ... def words(text):
    ...     for word in text.split():
    ...         yield word, len(word)
    """

    def attach(function: F) -> F:
        setattr(function, TABLE_DECLARED, TableDeclaration(tuple(arguments), tuple(result_types)))
        return function

    return attach


def columns_of_rows(annotation: object) -> tuple[object, ...] | None:
    """The annotations of the columns: of `Iterator[tuple[str, int]]` str and int; None if the result is no rows."""
    if typing.get_origin(annotation) not in GIVES_MANY:
        return None
    row = typing.get_args(annotation)[0]
    return typing.get_args(row) if typing.get_origin(row) is tuple else (row,)


def type_of_rows(columns: Sequence[DataType]) -> DataType:
    """What a call gives: its rows in an array, with columns that are called as in Flink."""
    fields = tuple(Field(f"f{number}", type_) for number, type_ in enumerate(columns))
    row = DataType(TypeRoot.ROW, nullable=False, fields=fields)
    return DataType(TypeRoot.ARRAY, nullable=False, element=row)
