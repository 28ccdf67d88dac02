"""TIME inside Spark, as Flink keeps it: an INT, the milliseconds of the day."""

from __future__ import annotations

from typing import Final

from millstream.plan.functions.spark_text import quote

_SHAPE: Final = quote(r"^\s*[0-9]{1,2}(\s*:\s*[0-9]{1,2}(\s*:\s*[0-9]{1,2}(\.[0-9]*)?)?)?\s*$")
_BLANKS: Final = quote(r"\s+")
_HOUR_ONLY: Final = quote(r"^([^:]+)$")
_FULL_HOUR: Final = "'$1:00'"


def text_of_time(time: str) -> str:
    """Flink's TIME is a TIME(0), so its text has no fraction, even if the value has one."""
    return f"date_format(timestamp_millis({time}), 'HH:mm:ss')"


def time_of_text(text: str, *, attempt: bool) -> str:
    """`7`, `7:08` or `07:08:09.5`, in whole seconds; any other text fails like one that is not a timestamp."""
    clock = f"regexp_replace(regexp_replace({text}, {_BLANKS}, ''), {_HOUR_ONLY}, {_FULL_HOUR})"
    moment = f"if({text} RLIKE {_SHAPE}, concat('1970-01-01 ', {clock}), concat('TIME ', {text}))"
    return time_of_timestamp(f"{'try_cast' if attempt else 'CAST'}({moment} AS TIMESTAMP_LTZ)")


def time_of_timestamp(timestamp: str) -> str:
    """In whole seconds."""
    return f"CAST(pmod(unix_seconds(CAST({timestamp} AS TIMESTAMP_LTZ)), 86400) * 1000 AS INT)"


def timestamp_of_time(time: str, spark_type: str) -> str:
    """On 1 January 1970."""
    return f"CAST(timestamp_millis({time}) AS {spark_type})"
