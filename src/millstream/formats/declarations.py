"""The formats a table can name, each declared with its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from millstream.catalog.options import ConfigOption, Role, boolean, one_of
from millstream.changelog import INSERT_ONLY, ChangelogMode
from millstream.errors import Code, Diagnostic
from millstream.formats.json_options import JsonOptions, MapNullKeyMode, TimestampStandard
from millstream.formats.json_types import not_in_json
from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from millstream.catalog.option_reader import OptionReader
    from millstream.sql.statements import PhysicalColumn


@dataclass(frozen=True, slots=True)
class JsonFormat:
    options: JsonOptions
    name: str = "json"
    changelog: ChangelogMode = INSERT_ONLY


@dataclass(frozen=True, slots=True)
class AvroFormat:
    name: str = "avro"
    changelog: ChangelogMode = INSERT_ONLY


Format = JsonFormat | AvroFormat


@dataclass(frozen=True, slots=True)
class FormatDeclaration:
    identifier: str
    doc: str
    options: tuple[ConfigOption[Any], ...]
    bind: Callable[[dict[str, Any]], Format]
    refuses: Callable[[DataType], str | None] = lambda _: None
    """Why a column of this type cannot be carried, or None."""
    recognised: tuple[str, ...] = ()
    metadata: tuple[Any, ...] = ()
    without_effect: tuple[tuple[str, str], ...] = ()


FAIL_ON_MISSING_FIELD: Final = ConfigOption(
    "fail-on-missing-field", boolean, "Whether a field that is missing in a message fails the job.", False
)
IGNORE_PARSE_ERRORS: Final = ConfigOption(
    "ignore-parse-errors",
    boolean,
    "Whether fields and messages that cannot be read become NULL or are skipped.",
    False,
)
TIMESTAMP_STANDARD: Final = ConfigOption(
    "timestamp-format.standard",
    TimestampStandard,
    "How timestamps are written: SQL (2024-01-02 03:04:05.1) or ISO-8601 (2024-01-02T03:04:05.1).",
    TimestampStandard.SQL,
)
MAP_NULL_KEY_MODE: Final = ConfigOption(
    "map-null-key.mode", one_of(MapNullKeyMode), "What to do with a NULL key of a map: FAIL, DROP or LITERAL.",
    MapNullKeyMode.FAIL,
)  # fmt: skip
MAP_NULL_KEY_LITERAL: Final = ConfigOption("map-null-key.literal", str, "The key that stands for NULL.", "null")
DECIMAL_AS_PLAIN_NUMBER: Final = ConfigOption(
    "encode.decimal-as-plain-number", boolean, "Whether decimals are written without exponent.", False
)
IGNORE_NULL_FIELDS: Final = ConfigOption(
    "encode.ignore-null-fields", boolean, "Whether NULL fields are left out.", False
)


def _json(values: dict[str, Any]) -> JsonFormat:
    return JsonFormat(
        JsonOptions(
            fail_on_missing_field=values["fail-on-missing-field"],
            ignore_parse_errors=values["ignore-parse-errors"],
            timestamp_standard=values["timestamp-format.standard"],
            map_null_key_mode=values["map-null-key.mode"],
            map_null_key_literal=values["map-null-key.literal"],
            decimal_as_plain_number=values["encode.decimal-as-plain-number"],
            ignore_null_fields=values["encode.ignore-null-fields"],
        )
    )


def _not_in_avro(type_: DataType) -> str | None:
    if type_.root is TypeRoot.TIMESTAMP_LTZ:
        return "Avro has no TIMESTAMP_LTZ in the mapping used here"
    if type_.root is TypeRoot.TIMESTAMP and (type_.precision or 0) > 3:  # noqa: PLR2004
        return "Avro holds TIMESTAMP with at most 3 fraction digits"
    if type_.root is TypeRoot.MAP and type_.key is not None and type_.key.root is not TypeRoot.STRING:
        return "Avro maps have STRING keys"
    inner = [type_.element, *(field.type for field in type_.fields)]
    return next((why for part in inner if part is not None and (why := _not_in_avro(part))), None)


FORMATS: Final = {
    declaration.identifier: declaration
    for declaration in (
        FormatDeclaration(
            "json",
            "One JSON object per message.",
            (
                FAIL_ON_MISSING_FIELD,
                IGNORE_PARSE_ERRORS,
                TIMESTAMP_STANDARD,
                MAP_NULL_KEY_MODE,
                MAP_NULL_KEY_LITERAL,
                DECIMAL_AS_PLAIN_NUMBER,
                IGNORE_NULL_FIELDS,
            ),
            _json,
            not_in_json,
            recognised=("decode.json-parser.enabled",),
        ),
        FormatDeclaration(
            "avro",
            "Avro binary without an embedded schema; the schema follows from the table.",
            (),
            lambda _: AvroFormat(),
            _not_in_avro,
            recognised=("encoding", "timestamp_mapping.legacy", "codec"),
        ),
    )
}
_PLANNED: Final = (
    "csv", "raw", "debezium-json", "canal-json", "maxwell-json", "ogg-json", "avro-confluent",
    "debezium-avro-confluent", "protobuf",
)  # fmt: skip


def read_format(
    reader: OptionReader,
    named_by: ConfigOption[str],
    prefix: str,
    columns: Iterable[PhysicalColumn],
    role: Role = Role.BOTH,  # noqa: ARG001
) -> Format | None:
    """The format that an option names, with its own options under `prefix` (`value.json.…`)."""
    identifier = reader.get(named_by)
    if identifier is None:
        return None
    declaration = FORMATS.get(identifier)
    if declaration is None:
        primary = (
            f"format '{identifier}' is not supported yet"
            if identifier in _PLANNED
            else f"there is no format '{identifier}'"
        )
        reader.problems.append(
            Diagnostic(
                Code.UNDEFINED_FORMAT,
                primary,
                reader.value_place(named_by.key),
                hint=f"Formats: {', '.join(FORMATS)}.",
            )
        )
        return None
    under = f"{prefix}{identifier}."
    values = {option.key: reader.get(option, under) for option in declaration.options}
    reader.recognise(under + key for key in declaration.recognised)
    if values.get(FAIL_ON_MISSING_FIELD.key) and values.get(IGNORE_PARSE_ERRORS.key):
        reader.report(
            Code.CONFLICTING_OPTIONS,
            f"options '{FAIL_ON_MISSING_FIELD.key}' and '{IGNORE_PARSE_ERRORS.key}' cannot both be true",
            under + IGNORE_PARSE_ERRORS.key,
        )
    reader.problems += _refused_columns(declaration, columns)
    return declaration.bind(values)


def _refused_columns(declaration: FormatDeclaration, columns: Iterable[PhysicalColumn]) -> Iterator[Diagnostic]:
    for column in columns:
        if why := declaration.refuses(column.type):
            yield Diagnostic(
                Code.UNSUPPORTED_TYPE,
                f"format '{declaration.identifier}' cannot carry column \"{column.name}\" of type {column.type}",
                column.span,
                detail=f"{why}.",
            )
