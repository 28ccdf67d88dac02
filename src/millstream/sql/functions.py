"""What a function is: names, signatures, a result type, a Spark expression, and a word on how it compares to Flink."""

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


class Nulls(StrEnum):
    """When the result can be NULL."""

    FROM_ARGUMENTS = "if an argument can"
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Family:
    """Types that a parameter takes, under the name that users read."""

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
"""Of a parameter that takes one of some bare words, not a value."""


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    family: Family = ANY
    read_as: DataType | None = None
    """What an argument is cast to before Spark sees it."""
    words: frozenset[str] = frozenset()
    literal: bool = False
    """Whether only a literal will do."""
    problem: Callable[[str], str | None] | None = None
    """What is wrong with a text that is given as a literal, in words."""

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
    """Types that are fine one by one and do not go together; the text says why."""

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
    """How many parameters at the end may be left out."""
    repeats: bool = False
    """Whether the last parameter can be given any number of times more."""
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
    """One call on its way to Spark: its arguments as Spark SQL, and what is known of them."""

    texts: tuple[str, ...]
    given: Given
    result: DataType
    clauses: Mapping[str, str]
    """Of a clause with an expression, `DEFAULT 0 ON ERROR`, that expression."""
    made_by: tuple[str, ...]
    """The function that each argument is a call of, or nothing."""
    cast: Callable[[str, DataType, DataType], str]
    """A Spark expression of one type as another: `cast(text, from, to)`."""
    type_name: Callable[[DataType], str]

    def __getitem__(self, index: int) -> str:
        return self.texts[index]

    def as_type(self, index: int, type_: DataType) -> str:
        return self.cast(self.texts[index], self.given.types[index], type_)

    @property
    def type(self) -> str:
        return self.type_name(self.result)


SparkForm = str | Callable[[SparkCall], str]
"""`upper({0})`, or a function that writes it; `{rest}` is all arguments, `{type}` the result's type."""


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    category: Category
    signatures: tuple[Signature, ...]
    spark: SparkForm | None
    """None for what an operator of its own computes, such as an aggregate."""
    note: str = ""
    """How it differs from Flink; empty where it does not."""
    written: str | None = None
    """How it is written, where that is not `NAME(arguments)`."""
    clauses: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The words that may stand in each clause; DEFAULT there allows an expression, TYPE a type."""

    @property
    def is_aggregate(self) -> bool:
        return self.category is Category.AGGREGATE

    @property
    def forms(self) -> tuple[str, ...]:
        """How to call it, one line per signature."""
        return (self.written,) if self.written else tuple(f"{self.name}({sign})" for sign in self.signatures)


@dataclass(frozen=True, slots=True)
class Missing:
    """A function of Flink that is recognised and refused."""

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
