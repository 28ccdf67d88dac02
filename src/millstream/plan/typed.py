"""An expression whose every part has a type: what a function's declaration is applied to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from millstream.catalog.functions import UserFunction
    from millstream.sql.functions import Function, Signature
    from millstream.sql.types import DataType


_PROCESSING_TIME: Final = "PROCTIME"


@dataclass(frozen=True, slots=True)
class InputColumn:
    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; an interval's value is its months or its microseconds, that of a time its milliseconds of the day."""

    value: object
    type: DataType


@dataclass(frozen=True, slots=True)
class Word:
    """A bare word among the arguments, as DAY in `EXTRACT(DAY FROM d)`."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    function: Function
    signature: Signature
    arguments: tuple[Typed | Word, ...]
    type: DataType
    clauses: tuple[tuple[str, Typed | Word | DataType], ...] = ()


@dataclass(frozen=True, slots=True)
class UserCall:
    function: UserFunction
    arguments: tuple[Typed, ...]
    type: DataType


@dataclass(frozen=True, slots=True)
class Conversion:
    """CAST, or TRY_CAST where a failed `attempt` is NULL."""

    value: Typed
    type: DataType
    attempt: bool


@dataclass(frozen=True, slots=True)
class FieldOf:
    """A field of a row, `r.f`."""

    row: Typed
    name: str
    type: DataType


Typed = InputColumn | Constant | Call | UserCall | Conversion | FieldOf


def walk(expression: Typed) -> Iterator[Typed]:
    """The expression and all parts of it that have a type."""
    yield expression
    for part in parts_of(expression):
        yield from walk(part)


def columns_in(expression: Typed) -> frozenset[str]:
    return frozenset(part.name for part in walk(expression) if isinstance(part, InputColumn))


def user_functions_in(expression: Typed) -> Iterator[UserFunction]:
    return (part.function for part in walk(expression) if isinstance(part, UserCall))


def functions_in(expression: Typed) -> frozenset[str]:
    """The names of the built-in functions and operators that it calls."""
    return frozenset(part.function.name for part in walk(expression) if isinstance(part, Call))


def is_processing_time(expression: Typed) -> bool:
    return isinstance(expression, Call) and expression.function.name == _PROCESSING_TIME


def substitute(expression: Typed, column: Callable[[InputColumn], Typed]) -> Typed:
    """The expression with each column replaced by what `column` gives for it."""
    return rewrite(expression, lambda part: column(part) if isinstance(part, InputColumn) else None)


def rewrite(expression: Typed, change: Callable[[Typed], Typed | None]) -> Typed:
    """The expression with each part replaced for which `change` gives something; parts of such a part stay."""

    def replace_part(part: Typed) -> Typed:
        return rewrite(part, change)

    if (changed := change(expression)) is not None:
        return changed
    match expression:
        case InputColumn() | Constant():
            return expression
        case Call():
            arguments = tuple(part if isinstance(part, Word) else replace_part(part) for part in expression.arguments)
            clauses = tuple(
                (name, replace_part(value) if isinstance(value, _TYPED) else value)
                for name, value in expression.clauses
            )
            return replace(expression, arguments=arguments, clauses=clauses)
        case UserCall():
            return replace(expression, arguments=tuple(map(replace_part, expression.arguments)))
        case Conversion():
            return replace(expression, value=replace_part(expression.value))
        case FieldOf():
            return replace(expression, row=replace_part(expression.row))


def parts_of(expression: Typed) -> Iterator[Typed]:
    match expression:
        case Call():
            yield from (part for part in expression.arguments if not isinstance(part, Word))
            yield from (value for _, value in expression.clauses if isinstance(value, _TYPED))
        case UserCall():
            yield from expression.arguments
        case Conversion():
            yield expression.value
        case FieldOf():
            yield expression.row


_TYPED = (InputColumn, Constant, Call, UserCall, Conversion, FieldOf)
