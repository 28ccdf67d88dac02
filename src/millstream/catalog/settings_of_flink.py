"""Flink's own settings that mean the same here, and those of which only some values are supported."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from millstream.catalog.durations import duration
from millstream.catalog.options import ConfigOption, OptionType, boolean, one_of, text
from millstream.catalog.restart_settings import RESTARTS


class ResultMode(StrEnum):
    TABLE = "table"
    CHANGELOG = "changelog"
    TABLEAU = "tableau"


class RuntimeMode(StrEnum):
    STREAMING = "streaming"
    BATCH = "batch"
    AUTOMATIC = "automatic"


class NotNullEnforcer(StrEnum):
    ERROR = "ERROR"
    DROP = "DROP"


class TypeLengthEnforcer(StrEnum):
    IGNORE = "IGNORE"
    TRIM_PAD = "TRIM_PAD"
    ERROR = "ERROR"


class NestedConstraintEnforcer(StrEnum):
    IGNORE = "IGNORE"
    ERROR = "ERROR"


class Switch(StrEnum):
    ENABLED = "ENABLED"
    DISABLED = "DISABLED"


class Dialect(StrEnum):
    DEFAULT = "default"
    HIVE = "hive"


class UpsertMaterialize(StrEnum):
    AUTO = "AUTO"
    NONE = "NONE"
    FORCE = "FORCE"


@dataclass(frozen=True, slots=True)
class PartlySupported:
    """A setting that changes results, and of which only some values describe what happens here."""

    option: ConfigOption[Any]
    so_far: tuple[str, ...]


_IS_UTC: Final = re.compile(
    r"(?:Z|Zulu|(?:Etc/)?(?:UTC|UCT|GMT|Universal|Greenwich|Zulu)|UT)(?:[+-]?00?(?::?00(?::?00)?)?)?|[+-]00(?::?00)?",
    re.IGNORECASE,
)


def _time_zone(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_+/:-]*|[+-]\d{2}:\d{2}", value.strip()):
        raise ValueError(f'"{value}" is not a time zone such as UTC, Europe/Berlin or GMT+02:00')
    return "UTC" if _IS_UTC.fullmatch(value.strip()) else value.strip()


RESULT_MODE: Final = ConfigOption(
    "sql-client.execution.result-mode",
    one_of(
        ResultMode,
        {
            ResultMode.TABLE: "the table that is left when the query ends",
            ResultMode.CHANGELOG: "one line per change",
            ResultMode.TABLEAU: "one line per change, in a frame",
        },
    ),
    "How the rows of a SELECT are shown. Unless set, a query that ends shows its final table, any other its changes.",
)
NOT_NULL_ENFORCER: Final = ConfigOption(
    "table.exec.sink.not-null-enforcer",
    one_of(
        NotNullEnforcer,
        {NotNullEnforcer.ERROR: "the job fails", NotNullEnforcer.DROP: "the row is dropped"},
    ),
    "What happens to a row with NULL in a NOT NULL column of a sink: ERROR or DROP.",
    NotNullEnforcer.ERROR,
)
STATE_TTL: Final = ConfigOption(
    "table.exec.state.ttl",
    duration,
    "How long state is kept after it was last written; 0 is forever.",
    timedelta(0),
    example="1 d",
)
SOURCE_IDLE_TIMEOUT: Final = ConfigOption(
    "table.exec.source.idle-timeout",
    duration,
    "After how long without rows a partition no longer holds the watermark back; 0 is never.",
    timedelta(0),
    example="1 min",
)
LOCAL_TIME_ZONE: Final = ConfigOption(
    "table.local-time-zone", OptionType("STRING", _time_zone), "The time zone of TIMESTAMP_LTZ.", "UTC"
)

UPSERT_MATERIALIZE: Final = ConfigOption(
    "table.exec.sink.upsert-materialize",
    one_of(
        UpsertMaterialize,
        {
            UpsertMaterialize.AUTO: "where the query updates by another key than the sink's",
            UpsertMaterialize.NONE: "never; such a query is refused",
            UpsertMaterialize.FORCE: "always",
        },
    ),
    "When all rows of a key are kept before an upsert sink, so that the previous one returns if the latest is deleted.",
    UpsertMaterialize.AUTO,
)
CDC_EVENTS_DUPLICATE: Final = ConfigOption(
    "table.exec.source.cdc-events-duplicate",
    boolean,
    "Whether change events may be duplicated, and are deduplicated by the primary key.",
    False,
)

SHARED: Final[tuple[ConfigOption[Any], ...]] = (
    RESULT_MODE,
    NOT_NULL_ENFORCER,
    UPSERT_MATERIALIZE,
    CDC_EVENTS_DUPLICATE,
    STATE_TTL,
    SOURCE_IDLE_TIMEOUT,
    *RESTARTS,
)
"""The settings that mean the same here as in Flink."""

LATER: Final = (
    PartlySupported(
        ConfigOption(
            "execution.runtime-mode",
            one_of(
                RuntimeMode,
                {
                    RuntimeMode.STREAMING: "the job runs until it is stopped",
                    RuntimeMode.BATCH: "the job ends by itself",
                    RuntimeMode.AUTOMATIC: "as the sources are",
                },
            ),
            "Whether a job keeps running or ends: streaming, batch or automatic.",
            RuntimeMode.STREAMING,
        ),
        ("streaming",),
    ),
    PartlySupported(LOCAL_TIME_ZONE, ("UTC",)),
    PartlySupported(
        ConfigOption(
            "table.exec.emit.early-fire.enabled",
            boolean,
            "Whether a window gives results before it has ended, and updates them.",
            False,
        ),
        ("false",),
    ),
    PartlySupported(
        ConfigOption(
            "table.exec.emit.late-fire.enabled",
            boolean,
            "Whether a window takes rows that are late, and updates its result.",
            False,
        ),
        ("false",),
    ),
    PartlySupported(
        ConfigOption(
            "table.exec.sink.type-length-enforcer",
            one_of(TypeLengthEnforcer),
            "What happens to texts longer or shorter than CHAR(n) and VARCHAR(n): IGNORE, TRIM_PAD or ERROR.",
            TypeLengthEnforcer.IGNORE,
        ),
        ("IGNORE",),
    ),
    PartlySupported(
        ConfigOption(
            "table.exec.sink.nested-constraint-enforcer",
            one_of(NestedConstraintEnforcer),
            "Whether NOT NULL and lengths inside nested columns of a sink are checked: IGNORE or ERROR.",
            NestedConstraintEnforcer.IGNORE,
        ),
        ("IGNORE",),
    ),
    PartlySupported(
        ConfigOption(
            "table.exec.legacy-cast-behaviour",
            one_of(Switch),
            "Whether CAST gives NULL instead of failing, as Flink's did before 1.15: ENABLED or DISABLED.",
            Switch.DISABLED,
        ),
        ("DISABLED",),
    ),
    PartlySupported(
        ConfigOption(
            "table.sql-dialect",
            one_of(Dialect),
            "The SQL dialect of the script: default or hive.",
            Dialect.DEFAULT,
        ),
        ("default",),
    ),
    PartlySupported(
        ConfigOption("table.builtin-catalog-name", text, "The name of the default catalog.", "default_catalog"),
        ("default_catalog",),
    ),
    PartlySupported(
        ConfigOption("table.builtin-database-name", text, "The name of the default database.", "default_database"),
        ("default_database",),
    ),
    PartlySupported(
        ConfigOption(
            "table.legacy-nested-row-nullability", boolean, "Whether fields of a NULL row are NOT NULL.", default=False
        ),
        ("false",),
    ),
    PartlySupported(
        ConfigOption("table.column-expansion-strategy", str, "Which columns SELECT * leaves out; none unless set.", ""),
        ("",),
    ),
)
