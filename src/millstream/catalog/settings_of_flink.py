"""Flink's own settings: those that mean the same here, those that mean nothing, and those that will."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from millstream.catalog.durations import duration
from millstream.catalog.options import ConfigOption, OptionType, at_least, boolean, long_integer, one_of
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


class UpsertMaterialize(StrEnum):
    AUTO = "AUTO"
    NONE = "NONE"
    FORCE = "FORCE"


@dataclass(frozen=True, slots=True)
class Idle:
    """A setting that is right and changes nothing here."""

    option: ConfigOption[Any]
    because: str


@dataclass(frozen=True, slots=True)
class Later:
    """A setting of which only some values are what happens here, as they are written; others are refused by name."""

    option: ConfigOption[Any]
    so_far: tuple[str, ...]


def _time_zone(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_+/:-]*|[+-]\d{2}:\d{2}", value.strip()):
        raise ValueError(f'"{value}" is not a time zone such as UTC, Europe/Berlin or GMT+02:00')
    return value.strip()


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
    "How the rows of a SELECT are shown. Unless set, a query that ends shows its table, another its changes.",
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
    "How long state is kept after it was last written; 0 is for ever.",
    timedelta(0),
    example="1 d",
)
LOCAL_TIME_ZONE: Final = ConfigOption(
    "table.local-time-zone", OptionType("STRING", _time_zone), "The time zone of TIMESTAMP_LTZ.", "UTC"
)
SOURCE_IDLE_TIMEOUT: Final = ConfigOption(
    "table.exec.source.idle-timeout",
    duration,
    "After how long without rows a partition no longer holds the watermark back; 0 is never.",
    timedelta(0),
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
    "When all rows of a key are kept before an upsert sink, so that the one before shows when the latest goes.",
    UpsertMaterialize.AUTO,
)
CDC_EVENTS_DUPLICATE: Final = ConfigOption(
    "table.exec.source.cdc-events-duplicate",
    boolean,
    "Whether change events may come twice and are made single by the primary key.",
    False,
)

SHARED: Final[tuple[ConfigOption[Any], ...]] = (
    RESULT_MODE,
    NOT_NULL_ENFORCER,
    UPSERT_MATERIALIZE,
    CDC_EVENTS_DUPLICATE,
    STATE_TTL,
    *RESTARTS,
)
"""What means here what it means in Flink."""

_BATCHES: Final = "a job works in batches already; 'millstream.batch.interval-ms' and '.max-rows' set their size"
_CHECKPOINTS: Final = "every batch is a checkpoint; 'millstream.batch.interval-ms' sets their pace"
_WATERMARKS: Final = "watermarks advance once per batch"
IDLE: Final = (
    Idle(
        ConfigOption("execution.checkpointing.interval", duration, "The time from one checkpoint to the next."),
        _CHECKPOINTS,
    ),
    Idle(
        ConfigOption("pipeline.auto-watermark-interval", duration, "The time from one watermark to the next."),
        _WATERMARKS,
    ),
    Idle(ConfigOption("table.exec.mini-batch.enabled", boolean, "Whether rows are worked on in batches."), _BATCHES),
    Idle(ConfigOption("table.exec.mini-batch.allow-latency", duration, "How long rows may wait."), _BATCHES),
    Idle(ConfigOption("table.exec.mini-batch.size", at_least(-1, long_integer), "The most rows of a batch."), _BATCHES),
    Idle(
        ConfigOption("pipeline.object-reuse", boolean, "Whether objects are reused between operators."),
        "rows travel in Arrow batches",
    ),
    Idle(
        ConfigOption("table.dynamic-table-options.enabled", boolean, "Whether hints may change options.", True),
        "hints are always read",
    ),
)
IDLE_FAMILIES: Final = (
    ("execution.checkpointing.", _CHECKPOINTS),
    ("state.", "the state is Spark's to keep, in the checkpoint folder"),
    ("taskmanager.", "there are no task managers; Spark's settings begin with 'spark.'"),
    ("jobmanager.", "there is no job manager; Spark's settings begin with 'spark.'"),
    ("table.optimizer.", "plans are made by other rules here"),
)
"""Settings of which none has an effect, by what they begin with."""
LATER: Final = (
    Later(
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
            "Whether a job runs on or ends: streaming, batch or automatic.",
            RuntimeMode.STREAMING,
        ),
        ("streaming",),
    ),
    Later(LOCAL_TIME_ZONE, ("UTC", "Z", "GMT", "Etc/UTC", "GMT+00:00", "+00:00")),
    Later(SOURCE_IDLE_TIMEOUT, ("0",)),
    Later(
        ConfigOption(
            "table.exec.sink.type-length-enforcer",
            one_of(TypeLengthEnforcer),
            "What happens to texts longer or shorter than CHAR(n) and VARCHAR(n): IGNORE, TRIM_PAD or ERROR.",
            TypeLengthEnforcer.IGNORE,
        ),
        ("IGNORE",),
    ),
)
