"""The formats of files, each declared with its options; Spark reads and writes them itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from millstream.catalog.options import ConfigOption, Role, boolean, one_of
from millstream.catalog.suggestions import nearest_key
from millstream.errors import Code, Diagnostic
from millstream.sql.types import CHARACTER, INTERVALS, NESTED, DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.catalog.option_reader import OptionReader


class TimestampText(StrEnum):
    SQL = "SQL"
    ISO_8601 = "ISO-8601"


class Compression(StrEnum):
    NONE = "none"
    SNAPPY = "snappy"
    GZIP = "gzip"
    ZSTD = "zstd"
    LZ4_RAW = "lz4_raw"


@dataclass(frozen=True, slots=True)
class CsvFiles:
    delimiter: str
    quote: str | None
    escape: str | None
    null_literal: str | None
    allow_comments: bool
    ignore_parse_errors: bool
    name: str = "csv"


@dataclass(frozen=True, slots=True)
class JsonFiles:
    """One object per line."""

    ignore_parse_errors: bool
    ignore_null_fields: bool
    timestamps: TimestampText
    name: str = "json"


@dataclass(frozen=True, slots=True)
class ParquetFiles:
    compression: Compression
    name: str = "parquet"


FileFormat = CsvFiles | JsonFiles | ParquetFiles


@dataclass(frozen=True, slots=True)
class FileFormatDeclaration:
    identifier: str
    options: tuple[ConfigOption[Any], ...]
    bind: Callable[[dict[str, Any]], FileFormat]
    refuses: Callable[[DataType], str | None]
    """Why a column of this type cannot be stored, or None."""
    recognised: tuple[str, ...] = ()


def one_character(value: str) -> str:
    r"""Escapes as in Java: `\t` is a tab."""
    character = value.encode().decode("unicode_escape") if value.startswith("\\") and len(value) > 1 else value
    if len(character) != 1:
        raise ValueError(f'"{value}" is not a single character')
    return character


FIELD_DELIMITER: Final = ConfigOption("field-delimiter", one_character, "The separator between two values.", ",")
QUOTE_CHARACTER: Final = ConfigOption("quote-character", one_character, "What encloses a value.", '"')
DISABLE_QUOTE: Final = ConfigOption("disable-quote-character", boolean, "Whether values are never enclosed.", False)
ESCAPE_CHARACTER: Final = ConfigOption("escape-character", one_character, "The character that escapes the next one.")
NULL_LITERAL: Final = ConfigOption("null-literal", str, "The text that stands for NULL; else an empty value does.")
ALLOW_COMMENTS: Final = ConfigOption("allow-comments", boolean, "Whether lines that start with # are skipped.", False)
IGNORE_PARSE_ERRORS: Final = ConfigOption(
    "ignore-parse-errors",
    boolean,
    "Whether values that cannot be read become NULL and lines that cannot be read are skipped.",
    False,
)
IGNORE_NULL_FIELDS: Final = ConfigOption(
    "encode.ignore-null-fields", boolean, "Whether NULL fields are left out.", False, Role.SINK
)
TIMESTAMP_STANDARD: Final = ConfigOption(
    "timestamp-format.standard",
    one_of(TimestampText),
    "How timestamps are written: SQL (2024-01-02 03:04:05.1) or ISO-8601 (2024-01-02T03:04:05.1).",
    TimestampText.SQL,
)
COMPRESSION: Final = ConfigOption(
    "compression", one_of(Compression), "How files are compressed.", Compression.SNAPPY, Role.SINK
)


def _csv(values: dict[str, Any]) -> CsvFiles:
    return CsvFiles(
        delimiter=values["field-delimiter"],
        quote=None if values["disable-quote-character"] else values["quote-character"],
        escape=values["escape-character"],
        null_literal=values["null-literal"],
        allow_comments=values["allow-comments"],
        ignore_parse_errors=values["ignore-parse-errors"],
    )


def _json(values: dict[str, Any]) -> JsonFiles:
    return JsonFiles(
        ignore_parse_errors=values["ignore-parse-errors"],
        ignore_null_fields=values["encode.ignore-null-fields"],
        timestamps=values["timestamp-format.standard"],
    )


def _not_in_any_file(type_: DataType) -> str | None:
    if type_.root in INTERVALS or type_.root in (TypeRoot.MULTISET, TypeRoot.NULL):
        return "Files have no such type"
    parts = [field.type for field in type_.fields] + [p for p in (type_.key, type_.element) if p is not None]
    return next((why for part in parts if (why := _not_in_any_file(part))), None)


def _not_in_csv(type_: DataType) -> str | None:
    return "A CSV file has no nested values" if type_.root in NESTED else _not_in_any_file(type_)


def _not_in_json(type_: DataType) -> str | None:
    if type_.key is not None and type_.key.root not in CHARACTER:
        return "The keys of a JSON object are texts"
    parts = [field.type for field in type_.fields] + [p for p in (type_.element,) if p is not None]
    return next((why for part in parts if (why := _not_in_json(part))), _not_in_any_file(type_))


FILE_FORMATS: Final = {
    declaration.identifier: declaration
    for declaration in (
        FileFormatDeclaration(
            "csv",
            (
                FIELD_DELIMITER,
                QUOTE_CHARACTER,
                DISABLE_QUOTE,
                ESCAPE_CHARACTER,
                NULL_LITERAL,
                ALLOW_COMMENTS,
                IGNORE_PARSE_ERRORS,
            ),
            _csv,
            _not_in_csv,
            recognised=(
                "array-element-delimiter", "write-bigdecimal-in-scientific-notation", "trim-spaces",
                "ignore-trailing-unmappable", "allow-trailing-comma", "fail-on-missing-columns",
                "empty-string-as-null",
            ),
        ),
        FileFormatDeclaration(
            "json",
            (IGNORE_PARSE_ERRORS, IGNORE_NULL_FIELDS, TIMESTAMP_STANDARD),
            _json,
            _not_in_json,
            recognised=(
                "fail-on-missing-field", "map-null-key.mode", "map-null-key.literal",
                "encode.decimal-as-plain-number", "decode.json-parser.enabled",
            ),
        ),
        FileFormatDeclaration(
            "parquet",
            (COMPRESSION,),
            lambda values: ParquetFiles(values["compression"]),
            _not_in_any_file,
            recognised=(
                "utc-timezone", "timestamp.time.unit", "write.int64.timestamp", "batch-size", "block.size",
            ),
        ),
    )
}  # fmt: skip


def read_file_format(reader: OptionReader, named_by: ConfigOption[str]) -> FileFormat | None:
    """The format that a table of files names, with its own options under its name."""
    identifier = reader.require(named_by)
    if identifier is None:
        return None
    declaration = FILE_FORMATS.get(identifier)
    if declaration is None:
        known, near = f"Formats of files: {', '.join(FILE_FORMATS)}.", nearest_key(identifier, FILE_FORMATS)
        reader.problems.append(
            Diagnostic(
                Code.UNDEFINED_FORMAT,
                f"connector 'filesystem' has no format '{identifier}'",
                reader.value_place(named_by.key),
                detail=known if near else None,
                hint=f"Did you mean '{near}'?" if near else known,
            )
        )
        return None
    under = f"{identifier}."
    values = {option.key: reader.get(option, under) for option in declaration.options}
    reader.recognise(under + key for key in declaration.recognised)
    if values.get(DISABLE_QUOTE.key) and reader.has(under + QUOTE_CHARACTER.key):
        reader.report(
            Code.CONFLICTING_OPTIONS,
            f"options '{under}{QUOTE_CHARACTER.key}' and '{under}{DISABLE_QUOTE.key}' exclude each other",
            under + DISABLE_QUOTE.key,
        )
    for column in reader.table.physical_columns:
        if why := declaration.refuses(column.type):
            reader.problems.append(
                Diagnostic(
                    Code.UNSUPPORTED_TYPE,
                    f"format '{identifier}' cannot carry column \"{column.name}\" of type {column.type}",
                    column.span,
                    detail=f"{why}.",
                )
            )
    return declaration.bind(values)
