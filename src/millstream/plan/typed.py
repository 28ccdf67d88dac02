"""An expression whose every part has a type: what a function's declaration is applied to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.catalog.functions import UserFunction
    from millstream.sql.functions import Function, Signature
    from millstream.sql.types import DataType


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
