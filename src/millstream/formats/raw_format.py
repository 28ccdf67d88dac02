"""`raw`: one column as its bare bytes."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from millstream.catalog.options import ConfigOption, one_of
from millstream.changelog import INSERT_ONLY, ChangelogMode
from millstream.errors import Code
from millstream.formats.declaration import DeclaredUse, FormatDeclaration
from millstream.sql.types import BINARIES, CHARACTER, DataType, TypeRoot

FIXED_SIZES: Final = {
    TypeRoot.BOOLEAN: 1,
    TypeRoot.TINYINT: 1,
    TypeRoot.SMALLINT: 2,
    TypeRoot.INT: 4,
    TypeRoot.BIGINT: 8,
    TypeRoot.FLOAT: 4,
    TypeRoot.DOUBLE: 8,
}


class Endianness(StrEnum):
    BIG = "big-endian"
    LITTLE = "little-endian"


@dataclass(frozen=True, slots=True)
class RawOptions:
    charset: str = "utf-8"
    endianness: Endianness = Endianness.BIG
    line_delimiter: str | None = None


@dataclass(frozen=True, slots=True)
class RawFormat:
    options: RawOptions = RawOptions()
    name: str = "raw"
    changelog: ChangelogMode = INSERT_ONLY


# They cannot decode every sequence of bytes, and Java does not have them.
_ENCODINGS_OF_PYTHON_ALONE: Final = frozenset({"idna", "punycode", "raw-unicode-escape", "unicode-escape"})


def charset(value: str) -> str:
    try:
        "".encode(value)
        name = codecs.lookup(value).name
    except (LookupError, UnicodeError):
        name = None
    if name is None or name in _ENCODINGS_OF_PYTHON_ALONE:
        raise ValueError(f'"{value}" is not a charset')
    return name


def _delimiter(value: str) -> str:
    if not value:
        raise ValueError("the delimiter is empty")
    return value


CHARSET: Final = ConfigOption("charset", charset, "The charset of a text, e.g. 'UTF-8' or 'ISO-8859-1'.", "utf-8")
ENDIANNESS: Final = ConfigOption(
    "endianness",
    one_of(Endianness),
    "The order of a number's bytes: big-endian or little-endian.",
    Endianness.BIG,
)
LINE_DELIMITER: Final = ConfigOption(
    "line-delimiter",
    _delimiter,
    "What separates the rows of one message; it is written after each row.",
)


def not_in_raw(type_: DataType) -> str | None:
    if type_.root in FIXED_SIZES or type_.root in CHARACTER or type_.root in BINARIES:
        return None
    return "It carries texts, binaries, BOOLEAN, whole numbers, FLOAT and DOUBLE"


def _one_column(use: DeclaredUse) -> None:
    if len(use.columns) > 1:
        names = ", ".join(f'"{column.name}"' for column in use.columns)
        use.report_use(
            Code.UNSUPPORTED_TYPE,
            f"format 'raw' carries a single column, and here it has {len(use.columns)}: {names}",
            hint="Declare one column, or choose a format that has fields.",
        )


def _raw(values: dict[str, Any]) -> RawFormat:
    return RawFormat(RawOptions(values[CHARSET.key], values[ENDIANNESS.key], values[LINE_DELIMITER.key]))


RAW: Final = FormatDeclaration(
    "raw",
    "One column as its bare bytes; a NULL is a message without value.",
    _raw,
    (CHARSET, ENDIANNESS, LINE_DELIMITER),
    refuses=not_in_raw,
    rules=(_one_column,),
)
