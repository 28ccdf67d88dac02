"""The declaration of a function: names, signatures, result type, Spark expression, and its differences from Flink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from millstream.sql.types import (
    BINARIES,
    CHARACTER,
    INTEGERS,
    INTERVALS,
    NUMERIC,
    TIMESTAMPS,
    DataType,
    TypeRoot,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class Category(StrEnum):
    COMPARISON = "Comparison"
    LOGICAL = "Logic"
    ARITHMETIC = "Arithmetic"
    STRING = "Text"
    TEMPORAL = "Date and time"
    CONDITIONAL = "Conditions"
    CONVERSION = "Conversion"
    COLLECTION = "Arrays, maps and rows"
    JSON = "JSON"
    HASH = "Hashes"
    AGGREGATE = "Aggregates"
    WINDOW = "Over windows"


class Nulls(StrEnum):
    """When the result can be NULL."""

    FROM_ARGUMENTS = "if an argument can"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Family:
    """The types that a parameter accepts, with the name that users see."""

    name: str
    roots: frozenset[TypeRoot]


NUMBER: Final = Family("NUMBER", NUMERIC)
INTEGER: Final = Family("INTEGER", INTEGERS)
TEXT: Final = Family("STRING", CHARACTER)
BYTES: Final = Family("BYTES", BINARIES)
TEXT_OR_BYTES: Final = Family("STRING or BYTES", CHARACTER | BINARIES)
CONDITION: Final = Family("BOOLEAN", frozenset({TypeRoot.BOOLEAN}))
DATE: Final = Family("DATE", frozenset({TypeRoot.DATE}))
TIMESTAMP: Final = Family("TIMESTAMP", TIMESTAMPS)
POINT: Final = Family("DATE or TIMESTAMP", TIMESTAMPS | {TypeRoot.DATE})
TIME: Final = Family("TIME", frozenset({TypeRoot.TIME}))
INTERVAL: Final = Family("INTERVAL", INTERVALS)
ARRAY: Final = Family("ARRAY", frozenset({TypeRoot.ARRAY}))
MAP: Final = Family("MAP", frozenset({TypeRoot.MAP}))
COLLECTION: Final = Family("ARRAY, MAP or MULTISET", frozenset({TypeRoot.ARRAY, TypeRoot.MAP, TypeRoot.MULTISET}))
ANY: Final = Family("ANY", frozenset(TypeRoot))
WORD: Final = Family("word", frozenset())
"""For a parameter that takes one of several bare words, not a value."""


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    family: Family = ANY
    read_as: DataType | None = None
    """The type that an argument is cast to before it is passed to Spark."""
    words: frozenset[str] = frozenset()
    literal: bool = False
    """Whether only a literal is allowed."""
    problem: Callable[[str], str | None] | None = None
    """What is wrong with a string literal, as text."""

    def __str__(self) -> str:
        return self.name if self.family is WORD else f"{self.name} {self.family.name}"


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of one call: their types, and their values where they are literals."""

    types: tuple[DataType, ...]
    values: tuple[object, ...]
    clauses: Mapping[str, object] = field(default_factory=dict)
    """Per clause its words, its type, or the type of its expression."""

    def __len__(self) -> int:
        return len(self.types)


class MismatchError(Exception):
    """Types that are valid individually but cannot be combined; the text says why."""

    def __init__(self, why: str, hint: str | None = None, argument: int | None = None) -> None:
        super().__init__(why)
        self.hint = hint
        self.argument = argument


ResultRule = Callable[[Given], DataType]


@dataclass(frozen=True, slots=True)
class Signature:
    parameters: tuple[Parameter, ...]
    result: ResultRule
    result_text: str
    """The result as the reference shows it."""
    optional: int = 0
    """How many parameters at the end are optional."""
    repeats: bool = False
    """Whether the last parameter can be repeated."""
    nulls: Nulls = Nulls.FROM_ARGUMENTS

    def takes(self, count: int) -> bool:
        least = len(self.parameters) - self.optional
        return least <= count and (self.repeats or count <= len(self.parameters))

    def parameter(self, index: int) -> Parameter:
        return self.parameters[min(index, len(self.parameters) - 1)]

    def __str__(self) -> str:
        required = len(self.parameters) - self.optional
        text = ", ".join(map(str, self.parameters[:required]))
        for parameter in self.parameters[required:]:
            text += f"[, {parameter}]" if text else f"[{parameter}]"
        return f"{text}, …" if self.repeats else text


@dataclass(frozen=True, slots=True)
class SparkCall:
    """One call to be translated to Spark: its arguments as Spark SQL, and what is known about them."""

    texts: tuple[str, ...]
    given: Given
    result: DataType
    clauses: Mapping[str, str]
    """For a clause with an expression, `DEFAULT 0 ON ERROR`, that expression."""
    made_by: tuple[str, ...]
    """The function that each argument is a call of, if any."""
    cast: Callable[[str, DataType, DataType], str]
    """Casts a Spark expression from one type to another: `cast(text, from, to)`."""
    type_name: Callable[[DataType], str]

    def __getitem__(self, index: int) -> str:
        return self.texts[index]

    def as_type(self, index: int, type_: DataType) -> str:
        return self.cast(self.texts[index], self.given.types[index], type_)

    @property
    def type(self) -> str:
        return self.type_name(self.result)


SparkForm = str | Callable[[SparkCall], str]
"""`upper({0})`, or a function that returns it; `{rest}` is all arguments, `{type}` the result's type."""


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    category: Category
    signatures: tuple[Signature, ...]
    spark: SparkForm | None
    """None if an operator computes it, such as an aggregate."""
    note: str = ""
    """How it differs from Flink; empty if it does not."""
    written: str | None = None
    """Its syntax, if that is not `NAME(arguments)`."""
    clauses: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The words that are allowed in each clause; DEFAULT allows an expression, TYPE a type."""

    @property
    def is_aggregate(self) -> bool:
        return self.category is Category.AGGREGATE

    @property
    def forms(self) -> tuple[str, ...]:
        """How to call it, one line per signature."""
        return (self.written,) if self.written else tuple(f"{self.name}({sign})" for sign in self.signatures)


@dataclass(frozen=True, slots=True)
class Missing:
    """A function of Flink that is recognised but not supported."""

    name: str
    category: Category
    reason: str
    """A sentence."""
    instead: str | None = None
    """What to do, as a sentence."""


def signature(
    *parameters: Parameter,
    gives: DataType | tuple[ResultRule, str],
    optional: int = 0,
    repeats: bool = False,
    nulls: Nulls = Nulls.FROM_ARGUMENTS,
) -> Signature:
    if isinstance(gives, DataType):
        fixed = gives
        return Signature(parameters, lambda _: fixed, str(fixed), optional, repeats, nulls)
    rule, text = gives
    return Signature(parameters, rule, text, optional, repeats, nulls)


def word(name: str, *words: str) -> Parameter:
    return Parameter(name, WORD, words=frozenset(words))
