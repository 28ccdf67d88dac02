"""The settings of `SET 'key' = 'value'` and `--set KEY=VALUE`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from millstream.catalog.memory_sizes import memory_size
from millstream.catalog.options import ConfigOption, at_least, long_integer, one_of, text
from millstream.catalog.settings_of_flink import LATER, SHARED
from millstream.catalog.settings_without_effect import without_effect
from millstream.catalog.suggestions import nearest_key
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.spelling import closest

if TYPE_CHECKING:
    from millstream.source import Span


class NativeAggregate(StrEnum):
    AUTO = "auto"
    NEVER = "never"


PARALLELISM: Final = ConfigOption(
    "parallelism.default",
    at_least(1),
    "Tasks per shuffle and parts of the state; fixed when a job first starts.",
    example="4",
)
PIPELINE_NAME: Final = ConfigOption("pipeline.name", text, "The name of the Spark application.", example="pageviews")
STATE_BUCKETS: Final = ConfigOption(
    "millstream.state.buckets",
    at_least(1),
    "Buckets the keys of a job are spread over, 2 per task unless set; fixed when it first starts.",
    example="16",
)
MAX_STATE_SIZE: Final = ConfigOption(
    "millstream.state.max-size",
    memory_size,
    "The most bytes that the state of a job may take up; a job that keeps more ends with an error.",
    example="50 gb",
)
MAX_BATCH_ROWS: Final = ConfigOption(
    "millstream.batch.max-rows",
    at_least(1, long_integer),
    "The most messages one batch reads over all partitions, so that the first after a long stop is bounded too.",
    1_000_000,
)
TRIGGER_INTERVAL: Final = ConfigOption(
    "millstream.batch.interval-ms", at_least(0, long_integer), "The least time between two batch starts.", 0
)
AGGREGATE_NATIVE: Final = ConfigOption(
    "millstream.aggregate.native",
    one_of(
        NativeAggregate,
        {
            NativeAggregate.AUTO: "where that gives the same results",
            NativeAggregate.NEVER: "every aggregate runs on the kernel",
        },
    ),
    "Whether an aggregate may run on Spark's own operator, auto or never; a job keeps what it began with.",
    NativeAggregate.AUTO,
)
_WORKING: Final[tuple[ConfigOption[Any], ...]] = (
    PARALLELISM,
    PIPELINE_NAME,
    STATE_BUCKETS,
    MAX_STATE_SIZE,
    MAX_BATCH_ROWS,
    TRIGGER_INTERVAL,
    AGGREGATE_NATIVE,
    *SHARED,
)
SETTINGS: Final[dict[str, ConfigOption[Any]]] = {
    option.key: option for option in (*_WORKING, *(later.option for later in LATER))
}
SPARK: Final = "spark."
FIXED_IN_SPARK: Final = {
    "spark.sql.session.timeZone": ("UTC", "all times are computed in UTC"),
    "spark.sql.ansi.enabled": ("true", "expressions have the results of Flink only then"),
    "spark.sql.caseSensitive": ("true", "names of columns that differ in case are different columns"),
    "spark.sql.legacy.timeParserPolicy": ("CORRECTED", "patterns of times would mean something else"),
    "spark.sql.icu.caseMappings.enabled": ("true", "UPPER and LOWER would have other results"),
    "spark.sql.mapKeyDedupPolicy": ("LAST_WIN", "duplicate keys of a map would fail the job"),
    "spark.sql.legacy.javaCharsets": ("true", "ENCODE and DECODE would not know all charsets"),
    "spark.sql.legacy.codingErrorAction": ("true", "ENCODE and DECODE would fail on what a charset lacks"),
}
"""Settings of Spark that results depend on, with the value that each has."""
_OLDER_NAMES: Final = {"restart-strategy": "restart-strategy.type"}
_SHOWN_SETTINGS: Final = 5
_LATER: Final = {later.option.key: later.so_far for later in LATER}


def check_setting(key: str, value: str, span: Span | None = None) -> None:
    if key.startswith(SPARK):
        _check_spark_setting(key, value, span)
        return
    option, ignored = SETTINGS.get(key), without_effect(key)
    if option is not None:
        kind, doc = option.type, option.doc
    elif ignored is not None:
        kind, doc = ignored.type, f"Leave it out: {ignored.because}."
    else:
        raise ScriptError(_undefined_setting(key, span))
    try:
        read = kind.parse(value)
    except ValueError as error:
        raise ScriptError(
            Diagnostic(
                Code.INVALID_OPTION_VALUE,
                f"setting '{key}' has an invalid value",
                span,
                detail=f"{error}.",
                hint=doc,
            )
        ) from None
    so_far = _LATER.get(key)
    if so_far is not None and read not in map(kind.parse, so_far):
        raise ScriptError(
            Diagnostic(
                Code.NOT_BUILT_YET,
                f"setting '{key}' = '{value}' is not supported yet",
                span,
                detail=doc,
                hint=f"Only '{so_far[0]}' is supported (the default)." if so_far[0] else "Leave it out.",
            )
        )


def _check_spark_setting(key: str, value: str, span: Span | None) -> None:
    fixed, because = FIXED_IN_SPARK.get(key, (value, ""))
    if value in ("", fixed):  # empty in RESET
        return
    raise ScriptError(
        Diagnostic(
            Code.INVALID_OPTION_VALUE,
            f"setting '{key}' cannot be changed",
            span,
            detail=f"It is always '{fixed}': {because}.",
            hint="Leave it out.",
        )
    )


def setting_notice(key: str, value: str) -> str | None:
    """Why a valid setting has no effect here; None if it has one."""
    ignored = without_effect(key) if key not in SETTINGS else None
    if ignored is None:
        return None
    happens, parse = ignored.happens_anyway, ignored.type.parse
    return None if happens and parse(value) == parse(happens) else f"setting '{key}' has no effect: {ignored.because}"


def _undefined_setting(key: str, span: Span | None) -> Diagnostic:
    near = _OLDER_NAMES.get(key) or nearest_key(key, SETTINGS)
    return Diagnostic(
        Code.UNDEFINED_OPTION,
        f"there is no setting '{key}'",
        span,
        detail=None if near else _some_settings(key),
        hint=f"Did you mean '{near}'?"
        if near
        else "Correct it or leave it out; docs/reference/settings.md lists all there are.",
    )


def _some_settings(key: str) -> str:
    """A few settings that begin with the same word; otherwise the first words of all settings."""
    families = dict.fromkeys(f"{known.partition('.')[0]}." for known in (*SETTINGS, SPARK))
    beginning = f"{key.partition('.')[0]}."
    alike = [known for known in SETTINGS if known.startswith(beginning)]
    if not alike:
        return f"A setting begins with {', '.join(families)}."
    shown = closest(key, alike, _SHOWN_SETTINGS)
    return f"Under {beginning} there are {', '.join(sorted(shown))}{' and others' if len(shown) < len(alike) else ''}."
