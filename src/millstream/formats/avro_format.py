"""`avro`: Avro without an embedded schema."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from millstream.catalog.options import ConfigOption, boolean, one_of
from millstream.changelog import INSERT_ONLY, ChangelogMode
from millstream.formats.avro_types import not_in_avro, not_in_legacy_avro
from millstream.formats.declaration import DeclaredUse, FormatDeclaration


class AvroEncoding(StrEnum):
    BINARY = "binary"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """In the binary encoding."""

    legacy_timestamps: bool = True
    name: str = "avro"
    changelog: ChangelogMode = INSERT_ONLY


@dataclass(frozen=True, slots=True)
class AvroJsonFormat:
    """In Avro's JSON encoding."""

    legacy_timestamps: bool = True
    name: str = "avro"
    changelog: ChangelogMode = INSERT_ONLY


ENCODING: Final = ConfigOption(
    "encoding",
    one_of(AvroEncoding),
    "How the datum is written: binary, or json, which is Avro's own JSON encoding.",
    AvroEncoding.BINARY,
)
LEGACY_TIMESTAMPS: Final = ConfigOption(
    "timestamp_mapping.legacy",
    boolean,
    "Whether TIMESTAMP is Avro's timestamp-millis, as before Flink 1.19; otherwise it is a local timestamp and "
    "TIMESTAMP_LTZ is a timestamp.",
    True,
)


def _avro(values: dict[str, Any]) -> AvroFormat | AvroJsonFormat:
    chosen = AvroJsonFormat if values[ENCODING.key] is AvroEncoding.JSON else AvroFormat
    return chosen(values[LEGACY_TIMESTAMPS.key])


def _types_fit_the_mapping(use: DeclaredUse) -> None:
    if not use.values[LEGACY_TIMESTAMPS.key]:
        return
    for column in use.columns:
        why = not_in_legacy_avro(column.type)
        if why and not not_in_avro(column.type):
            use.report_column(
                "avro", column, why, f"Set '{use.under}{LEGACY_TIMESTAMPS.key}' = 'false', or change the column's type."
            )


NOT_UTF_8: Final = "In texts that are not UTF-8, U+FFFD replaces what is not."

AVRO: Final = FormatDeclaration(
    "avro",
    f"Avro without an embedded schema; the schema follows from the table. {NOT_UTF_8}",
    _avro,
    (ENCODING, LEGACY_TIMESTAMPS),
    refuses=not_in_avro,
    rules=(_types_fit_the_mapping,),
    without_effect=(("codec", "It compresses Avro files; a message is a bare datum."),),
)
