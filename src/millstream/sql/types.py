"""Flink's SQL types, as far as columns can have them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

MAX_DECIMAL_PRECISION: Final = 38


class TypeRoot(StrEnum):
    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    CHAR = "CHAR"
    VARCHAR = "VARCHAR"
    STRING = "STRING"
    BINARY = "BINARY"
    VARBINARY = "VARBINARY"
    BYTES = "BYTES"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_LTZ = "TIMESTAMP_LTZ"
    ARRAY = "ARRAY"
    MAP = "MAP"
    MULTISET = "MULTISET"
    ROW = "ROW"
    INTERVAL_YEAR_MONTH = "INTERVAL YEAR TO MONTH"
    INTERVAL_DAY_TIME = "INTERVAL DAY TO SECOND"
    NULL = "NULL"
    """The type of a bare NULL, which fits everywhere."""


INTEGERS: Final = frozenset({TypeRoot.TINYINT, TypeRoot.SMALLINT, TypeRoot.INT, TypeRoot.BIGINT})
APPROXIMATE: Final = frozenset({TypeRoot.FLOAT, TypeRoot.DOUBLE})
NUMERIC: Final = INTEGERS | APPROXIMATE | {TypeRoot.DECIMAL}
CHARACTER: Final = frozenset({TypeRoot.CHAR, TypeRoot.VARCHAR, TypeRoot.STRING})
BINARIES: Final = frozenset({TypeRoot.BINARY, TypeRoot.VARBINARY, TypeRoot.BYTES})
INTERVALS: Final = frozenset({TypeRoot.INTERVAL_YEAR_MONTH, TypeRoot.INTERVAL_DAY_TIME})
NESTED: Final = frozenset({TypeRoot.ARRAY, TypeRoot.MAP, TypeRoot.MULTISET, TypeRoot.ROW})
TIMESTAMPS: Final = frozenset({TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ})


@dataclass(frozen=True, slots=True)
class Field:
    """A named part of a ROW."""

    name: str
    type: DataType
    comment: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class DataType:
    """A SQL type, e.g. `DataType(TypeRoot.DECIMAL, precision=10, scale=2)`.

    `precision` is the length of CHAR and VARCHAR, the digits of DECIMAL, the fraction digits of TIME and
    TIMESTAMP. `element` is the element of ARRAY and MULTISET and the value of MAP.
    """

    root: TypeRoot
    nullable: bool = True
    precision: int | None = None
    scale: int | None = None
    element: DataType | None = None
    key: DataType | None = None
    fields: tuple[Field, ...] = ()

    def not_null(self) -> DataType:
        return DataType(self.root, False, self.precision, self.scale, self.element, self.key, self.fields)

    def or_null(self) -> DataType:
        return DataType(self.root, True, self.precision, self.scale, self.element, self.key, self.fields)

    def __str__(self) -> str:
        return f"{self._shape()}{'' if self.nullable else ' NOT NULL'}"

    def _shape(self) -> str:
        match self.root:
            case TypeRoot.DECIMAL:
                return f"DECIMAL({self.precision}, {self.scale})"
            case TypeRoot.ARRAY | TypeRoot.MULTISET:
                return f"{self.root}<{self.element}>"
            case TypeRoot.MAP:
                return f"MAP<{self.key}, {self.element}>"
            case TypeRoot.ROW:
                return f"ROW<{', '.join(f'{f.name} {f.type}' for f in self.fields)}>"
            case _:
                return str(self.root) if self.precision is None else f"{self.root}({self.precision})"


BOOLEAN: Final = DataType(TypeRoot.BOOLEAN)
INT: Final = DataType(TypeRoot.INT)
BIGINT: Final = DataType(TypeRoot.BIGINT)
DOUBLE: Final = DataType(TypeRoot.DOUBLE)
STRING: Final = DataType(TypeRoot.STRING)
BYTES: Final = DataType(TypeRoot.BYTES)
DATE: Final = DataType(TypeRoot.DATE)


def decimal(precision: int, scale: int) -> DataType:
    return DataType(TypeRoot.DECIMAL, precision=precision, scale=scale)
