"""The options of the `json` format, already checked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TimestampStandard(StrEnum):
    SQL = "SQL"
    ISO_8601 = "ISO-8601"


class MapNullKeyMode(StrEnum):
    FAIL = "FAIL"
    DROP = "DROP"
    LITERAL = "LITERAL"


@dataclass(frozen=True, slots=True)
class JsonOptions:
    """`map_null_key_*` has no effect: neither Spark nor Arrow supports NULL keys."""

    fail_on_missing_field: bool = False
    ignore_parse_errors: bool = False
    timestamp_standard: TimestampStandard = TimestampStandard.SQL
    map_null_key_mode: MapNullKeyMode = MapNullKeyMode.FAIL
    map_null_key_literal: str = "null"
    decimal_as_plain_number: bool = False
    ignore_null_fields: bool = False
