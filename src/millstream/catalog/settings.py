"""What `SET 'key' = 'value'` and `--set KEY=VALUE` can say."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from millstream.catalog.options import ConfigOption, integer, text
from millstream.errors import Code, Diagnostic, ScriptError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.source import Span


def _positive(value: str) -> int:
    number = integer(value)
    if number <= 0:
        raise ValueError(f"{number} is not above zero")
    return number


def _not_negative(value: str) -> int:
    number = integer(value)
    if number < 0:
        raise ValueError(f"{number} is below zero")
    return number


PARALLELISM: Final = ConfigOption(
    "parallelism.default", _positive, "Tasks per shuffle and parts of the state; fixed when a job first starts."
)
PIPELINE_NAME: Final = ConfigOption("pipeline.name", text, "The name of the Spark application.")
STATE_BUCKETS: Final = ConfigOption(
    "millstream.state.buckets",
    _positive,
    "Buckets the keys of a job are spread over, 4 per task unless set; fixed when it first starts.",
)
MAX_BATCH_ROWS: Final = ConfigOption(
    "millstream.batch.max-rows", _positive, "The most messages one batch reads over all partitions.", 1_000_000
)
TRIGGER_INTERVAL: Final = ConfigOption(
    "millstream.batch.interval-ms", _not_negative, "The least time between two batch starts.", 0
)
SETTINGS: Final = {
    option.key: option for option in (PARALLELISM, PIPELINE_NAME, STATE_BUCKETS, MAX_BATCH_ROWS, TRIGGER_INTERVAL)
}
SPARK: Final = "spark."


def check_setting(key: str, value: str, span: Span | None = None) -> None:
    if key.startswith(SPARK):
        return
    option = SETTINGS.get(key)
    if option is None:
        near = difflib.get_close_matches(key, SETTINGS, n=1, cutoff=0.6)
        raise ScriptError(
            Diagnostic(
                Code.UNDEFINED_OPTION,
                f"there is no setting '{key}'",
                span,
                detail=f"Settings: {', '.join(SETTINGS)}, and Spark's own under 'spark.'.",
                hint=f"Did you mean '{near[0]}'?" if near else None,
            )
        )
    try:
        option.parse(value)
    except ValueError as error:
        raise ScriptError(
            Diagnostic(
                Code.INVALID_OPTION_VALUE,
                f"setting '{key}' has a value that it cannot take",
                span,
                detail=f"{error}.",
                hint=option.doc,
            )
        ) from None


def integer_setting(settings: Mapping[str, str], option: ConfigOption[int]) -> int:
    written = settings.get(option.key)
    if written is not None:
        return option.parse(written)
    assert option.default is not None
    return option.default
