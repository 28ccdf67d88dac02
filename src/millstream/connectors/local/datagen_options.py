"""The options of `datagen`, and which of them fit a column's type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from millstream.catalog.options import ConfigOption, Role, boolean, one_of
from millstream.connectors.local.options import duration_ms, integer_within, positive
from millstream.sql.types import APPROXIMATE, BINARIES, CHARACTER, INTEGERS, NUMERIC, TIMESTAMPS, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable


class Kind(StrEnum):
    RANDOM = "random"
    SEQUENCE = "sequence"


ROWS_PER_SECOND: Final = ConfigOption(
    "rows-per-second", positive, "How many rows an endless source gives in a second.", 10_000, Role.SOURCE
)
NUMBER_OF_ROWS: Final = ConfigOption(
    "number-of-rows", positive, "How many rows there are in all; without limit unless set.", role=Role.SOURCE
)
FIELDS: Final = "fields."

VARIABLE_LENGTH: Final = frozenset({TypeRoot.VARCHAR, TypeRoot.STRING, TypeRoot.VARBINARY, TypeRoot.BYTES})
FIXED_LENGTH: Final = frozenset({TypeRoot.CHAR, TypeRoot.BINARY})
COLLECTIONS: Final = frozenset({TypeRoot.ARRAY, TypeRoot.MAP, TypeRoot.MULTISET})
COUNTABLE: Final = NUMERIC | CHARACTER | BINARIES
CLOCK: Final = frozenset({TypeRoot.DATE, TypeRoot.TIME}) | TIMESTAMPS
GENERATED: Final = COUNTABLE | CLOCK | COLLECTIONS | {TypeRoot.BOOLEAN, TypeRoot.ROW}

DEFAULT_LENGTH: Final = 100
DEFAULT_COLLECTION_LENGTH: Final = 3
MAX_COLLECTION_LENGTH: Final = 1_000_000
_MAX_LENGTH: Final = 2**31 - 1
_BITS: Final = {TypeRoot.TINYINT: 8, TypeRoot.SMALLINT: 16, TypeRoot.INT: 32, TypeRoot.BIGINT: 64}
_FLOAT_RANGE: Final = (1.401298464324817e-45, 3.4028234663852886e38)
_DOUBLE_RANGE: Final = (5e-324, 1.7976931348623157e308)


@dataclass(frozen=True, slots=True)
class FieldOption:
    """An option under `fields.<column>.`, and the types that it applies to."""

    key: str
    doc: str
    fits: frozenset[TypeRoot]
    kind: Kind


KIND: Final = ConfigOption("kind", one_of(Kind), "How values are generated: random or sequence.", Kind.RANDOM)
START: Final = FieldOption("start", "The first value of a sequence.", COUNTABLE, Kind.SEQUENCE)
END: Final = FieldOption("end", "The last value of a sequence.", COUNTABLE, Kind.SEQUENCE)
MIN: Final = FieldOption("min", "The smallest random value.", NUMERIC, Kind.RANDOM)
MAX: Final = FieldOption("max", "The greatest random value.", NUMERIC, Kind.RANDOM)
MAX_PAST: Final = FieldOption(
    "max-past", "How far random times may lie before now, e.g. '10 min'.", TIMESTAMPS, Kind.RANDOM
)
LENGTH: Final = FieldOption(
    "length", "The length of a text, a binary or a collection.", VARIABLE_LENGTH | COLLECTIONS, Kind.RANDOM
)
VAR_LEN: Final = FieldOption(
    "var-len", "Whether lengths are random too, up to the given one.", VARIABLE_LENGTH, Kind.RANDOM
)
NULL_RATE: Final = FieldOption("null-rate", "The share of NULLs, from 0 to 1.", GENERATED, Kind.RANDOM)
FIELD_OPTIONS: Final = (START, END, MIN, MAX, MAX_PAST, LENGTH, VAR_LEN, NULL_RATE)
DECLARED_FIELD_OPTIONS: Final[tuple[ConfigOption[Any], ...]] = (
    replace(KIND, key=f"{FIELDS}<column>.{KIND.key}", role=Role.SOURCE),
    *(ConfigOption(f"{FIELDS}<column>.{option.key}", str, option.doc, role=Role.SOURCE) for option in FIELD_OPTIONS),
)
"""As the reference shows them; the value is parsed by the column's type."""


def integer_range(type_: DataType) -> tuple[int, int]:
    """The range of an integer of this type; for strings and binaries, that of BIGINT."""
    if type_.root is TypeRoot.DECIMAL:
        digits = (type_.precision or 0) - (type_.scale or 0)
        greatest = min(10**digits - 1, 2**63 - 1)
        return -greatest, greatest
    half = 2 ** (_BITS.get(type_.root, 64) - 1)
    return -half, half - 1


def default_bounds(type_: DataType) -> tuple[float, float]:
    """Integers have the whole range of their type, other numbers the positive half."""
    match type_.root:
        case TypeRoot.FLOAT:
            return _FLOAT_RANGE
        case TypeRoot.DOUBLE:
            return _DOUBLE_RANGE
        case TypeRoot.DECIMAL:
            return 0.0, float(_greatest(type_))
        case _:
            return integer_range(type_)


def field_option(option: FieldOption, type_: DataType) -> ConfigOption[Any]:
    """The option with the parser for a column of this type."""
    return ConfigOption(option.key, _parser(option, type_), option.doc)


def _parser(option: FieldOption, type_: DataType) -> Callable[[str], Any]:
    match option:
        case _ if option is MAX_PAST:
            return duration_ms
        case _ if option is LENGTH:
            declared = type_.precision if type_.root in VARIABLE_LENGTH else None
            return integer_within(
                0 if type_.root in COLLECTIONS else 1,
                MAX_COLLECTION_LENGTH if type_.root in COLLECTIONS else declared or _MAX_LENGTH,
            )
        case _ if option is VAR_LEN:
            return boolean
        case _ if option is NULL_RATE:
            return _share
        case _ if option in (MIN, MAX) and type_.root not in INTEGERS:
            return _parse_bounded_number(type_)
        case _:
            return integer_within(*integer_range(type_))


def _share(value: str) -> float:
    number = _number(value)
    if not 0 <= number <= 1:
        raise ValueError(f"{value} is not between 0 and 1")
    return float(number)


def _parse_bounded_number(type_: DataType) -> Callable[[str], float]:
    greatest = Decimal(default_bounds(type_)[1]) if type_.root in APPROXIMATE else _greatest(type_)

    def parse(value: str) -> float:
        number = _number(value)
        if abs(number) > greatest:
            raise ValueError(f"{value} does not fit into {type_}")
        return float(number)

    return parse


def _number(value: str) -> Decimal:
    try:
        number = Decimal(value.strip())
    except InvalidOperation:
        raise ValueError(f'"{value}" is not a number') from None
    if not isfinite(number):
        raise ValueError(f'"{value}" is not a finite number')
    return number


def _greatest(type_: DataType) -> Decimal:
    return Decimal(f"{'9' * (type_.precision or 0)}E-{type_.scale or 0}")
