"""`json`: one JSON object per message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from millstream.catalog.options import ConfigOption, Role, boolean, one_of
from millstream.changelog import INSERT_ONLY, ChangelogMode
from millstream.errors import Code
from millstream.formats.declaration import DeclaredUse, FormatDeclaration
from millstream.formats.json_options import JsonOptions, MapNullKeyMode, TimestampStandard
from millstream.formats.json_types import not_in_json


@dataclass(frozen=True, slots=True)
class JsonFormat:
    options: JsonOptions
    name: str = "json"
    changelog: ChangelogMode = INSERT_ONLY


FAIL_ON_MISSING_FIELD: Final = ConfigOption(
    "fail-on-missing-field",
    boolean,
    "Whether a field that is missing in a message fails the job.",
    False,
    Role.SOURCE,
)
IGNORE_PARSE_ERRORS: Final = ConfigOption(
    "ignore-parse-errors",
    boolean,
    "Whether fields and messages that cannot be read become NULL or are skipped.",
    False,
    Role.SOURCE,
)
TIMESTAMP_STANDARD: Final = ConfigOption(
    "timestamp-format.standard",
    TimestampStandard,
    "How timestamps are written: SQL (2024-01-02 03:04:05.1) or ISO-8601 (2024-01-02T03:04:05.1).",
    TimestampStandard.SQL,
)
MAP_NULL_KEY_MODE: Final = ConfigOption(
    "map-null-key.mode",
    one_of(MapNullKeyMode),
    "What to do with a NULL key of a map: FAIL, DROP or LITERAL.",
    MapNullKeyMode.FAIL,
    Role.SINK,
)
MAP_NULL_KEY_LITERAL: Final = ConfigOption(
    "map-null-key.literal", str, "The key that stands for NULL in mode LITERAL.", "null", Role.SINK
)
DECIMAL_AS_PLAIN_NUMBER: Final = ConfigOption(
    "encode.decimal-as-plain-number", boolean, "Whether decimals are written without exponent.", False, Role.SINK
)
IGNORE_NULL_FIELDS: Final = ConfigOption(
    "encode.ignore-null-fields", boolean, "Whether NULL fields are left out.", False, Role.SINK
)
SHARED_OPTIONS: Final[tuple[ConfigOption[Any], ...]] = (
    IGNORE_PARSE_ERRORS,
    TIMESTAMP_STANDARD,
    MAP_NULL_KEY_MODE,
    MAP_NULL_KEY_LITERAL,
    DECIMAL_AS_PLAIN_NUMBER,
    IGNORE_NULL_FIELDS,
)
"""The options of every format that writes its rows as JSON objects."""


def json_options(values: dict[str, Any]) -> JsonOptions:
    return JsonOptions(
        fail_on_missing_field=values.get(FAIL_ON_MISSING_FIELD.key, False),
        ignore_parse_errors=values[IGNORE_PARSE_ERRORS.key],
        timestamp_standard=values[TIMESTAMP_STANDARD.key],
        map_null_key_mode=values[MAP_NULL_KEY_MODE.key],
        map_null_key_literal=values[MAP_NULL_KEY_LITERAL.key],
        decimal_as_plain_number=values[DECIMAL_AS_PLAIN_NUMBER.key],
        ignore_null_fields=values[IGNORE_NULL_FIELDS.key],
    )


def _one_way_with_errors(use: DeclaredUse) -> None:
    if use.values[FAIL_ON_MISSING_FIELD.key] and use.values[IGNORE_PARSE_ERRORS.key]:
        use.report(
            Code.CONFLICTING_OPTIONS,
            f"options '{FAIL_ON_MISSING_FIELD.key}' and '{IGNORE_PARSE_ERRORS.key}' cannot both be true",
            IGNORE_PARSE_ERRORS,
        )


JSON: Final = FormatDeclaration(
    "json",
    "One JSON object per message.",
    lambda values: JsonFormat(json_options(values)),
    (FAIL_ON_MISSING_FIELD, *SHARED_OPTIONS),
    refuses=not_in_json,
    rules=(_one_way_with_errors,),
    without_effect=(
        ("decode.json-parser.enabled", "There is one parser here; it reads what Flink's streaming parser reads."),
    ),
)
