"""All formats, and how a table's options are resolved to a format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from millstream.catalog.options import ConfigOption, Role
from millstream.catalog.suggestions import nearest_key
from millstream.errors import Code, Diagnostic
from millstream.formats.avro_format import AVRO, AvroFormat
from millstream.formats.cdc_format import CANAL_JSON, DEBEZIUM_JSON, MAXWELL_JSON, OGG_JSON, CdcJsonFormat
from millstream.formats.confluent_format import AVRO_CONFLUENT, DEBEZIUM_AVRO_CONFLUENT, ConfluentAvroFormat
from millstream.formats.csv_format import CSV, CsvFormat
from millstream.formats.declaration import CarriedColumn, DeclaredUse, Format, FormatDeclaration
from millstream.formats.json_format import JSON, JsonFormat
from millstream.formats.protobuf_format import PROTOBUF
from millstream.formats.raw_format import RAW, RawFormat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.catalog.option_reader import OptionReader

__all__ = [
    "FORMATS", "AvroFormat", "CdcJsonFormat", "ConfluentAvroFormat", "CsvFormat", "Format", "JsonFormat", "RawFormat",
    "read_format",
]  # fmt: skip

FORMATS: Final[dict[str, FormatDeclaration]] = {
    declaration.identifier: declaration
    for declaration in (
        JSON, CSV, AVRO, RAW, DEBEZIUM_JSON, CANAL_JSON, MAXWELL_JSON, OGG_JSON, AVRO_CONFLUENT,
        DEBEZIUM_AVRO_CONFLUENT, PROTOBUF,
    )
}  # fmt: skip


def read_format(
    reader: OptionReader,
    named_by: ConfigOption[str],
    prefix: str,
    columns: Iterable[CarriedColumn],
    role: Role = Role.BOTH,
) -> Format | None:
    """The format that an option names, with its own options under `prefix` (`value.json.…`).

    Rules for sinks are checked only if `role` says so.
    """
    identifier = reader.get(named_by)
    if identifier is None:
        return None
    declaration = FORMATS.get(identifier)
    if declaration is None:
        known, near = f"Formats: {', '.join(FORMATS)}.", nearest_key(identifier, list(FORMATS))
        reader.problems.append(
            Diagnostic(
                Code.UNDEFINED_FORMAT,
                f"there is no format '{identifier}'",
                reader.value_place(named_by.key),
                detail=known if near else None,
                hint=f"Did you mean '{near}'?" if near else known,
            )
        )
        return None
    under = f"{prefix}{identifier}."
    use = DeclaredUse(reader, named_by, under, _values(reader, declaration, under), tuple(columns), role)
    for column in use.columns:
        if why := declaration.refuses(column.type):
            use.report_column(identifier, column, why)
    for rule in declaration.rules:
        rule(use)
    return declaration.bind(use.values)


def _values(reader: OptionReader, declaration: FormatDeclaration, under: str) -> dict[str, Any]:
    for key, reason in declaration.without_effect:
        reader.without_effect(under + key, reason)
    older = dict(declaration.fallback_keys)
    values = {option.key: reader.get(option, under) for option in declaration.options}
    for old, present in older.items():
        option = next(option for option in declaration.options if option.key == present)
        if reader.has(under + old) and not reader.has(under + present):
            values[present] = reader.get(ConfigOption(old, option.parse, option.doc, option.default), under)
    return values
