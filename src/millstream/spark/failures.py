"""Spark's exceptions, told in the user's terms. The one place where they are translated, by failure_patterns."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.settings_of_flink import NOT_NULL_ENFORCER
from millstream.errors import Code, Diagnostic, JobError
from millstream.spark.failure_patterns import PATTERNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import Column

    from millstream.errors import MillstreamError

# Spark's exceptions end with the query's plan, which holds our marks too: only a raised one counts.
_MARK: Final = re.compile(r"(?:\[USER_RAISED_EXCEPTION\]|UndecodableMessageError:|UnwritableRowError:) <<millstream ")
_PLAN: Final = "\n=== Streaming Query ==="
_ENVELOPE: Final = re.compile(r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: |(?: SQLSTATE: \w{5})+$")
_CONDITION: Final = re.compile(r"^\[[A-Z_.]+\] ")
_CLASS_NAME: Final = re.compile(r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ")
_TRACEBACK: Final = "Traceback (most recent call last):"


class SparkFailureError(Exception):
    """What Spark said. Its own exceptions ask the JVM for their text, which may be gone when it is shown."""


class UndecodableMessageError(Exception):
    """Raised in a Python worker; its text travels through Spark's exceptions to the driver."""

    def __init__(self, topic: str, partition: int, offset: int, text: str) -> None:
        super().__init__(_marked(Code.UNDECODABLE_MESSAGE, topic=topic, partition=partition, offset=offset, text=text))


class UnwritableRowError(Exception):
    """Raised in a Python worker too; `why` is a sentence."""

    def __init__(self, table: str, why: str) -> None:
        super().__init__(_marked(Code.UNWRITABLE_ROW, table=table, why=why))


def undecodable_message(text: str) -> Column:
    """The same, raised by a native expression over the columns of Spark's Kafka source."""
    return _raised(Code.UNDECODABLE_MESSAGE, F.col("topic"), F.col("partition"), F.col("offset"), _named("text", text))


def unwritable_row(table: str, why: Column) -> Column:
    """The same, raised by a native expression over a row that is to be written."""
    return _raised(Code.UNWRITABLE_ROW, _named("table", table), why.alias("why"))


def null_in_key(column: str, table: str) -> str:
    return _marked(Code.NULL_IN_KEY, column=column, table=table)


def _named(name: str, text: str) -> Column:
    return F.lit(text).alias(name)


def _raised(code: Code, *parameters: Column) -> Column:
    told = F.to_json(F.struct(_named("code", str(code)), *parameters))
    return F.raise_error(F.concat(F.lit("<<millstream "), told, F.lit(">>")))


def _marked(code: Code, **parameters: str | int) -> str:
    return f"<<millstream {json.dumps({'code': code, **parameters})}>>"


def job_error(
    job: str, error: BaseException, causes: Iterable[str] = (), discreet: Callable[[str], str] = str
) -> MillstreamError:
    """The error of a failed query; the original stays behind it as the cause.

    `causes` are those that Spark keeps to itself, from the first to the last; `discreet` hides what is secret.
    """
    said, plan, shown = str(error).partition(_PLAN)
    text = discreet("\n".join([said, *(f"Caused by: {cause}" for cause in causes)]) + plan + shown)
    failure = JobError(_diagnostic(job, text))
    failure.__cause__ = SparkFailureError(text)
    return failure


def _diagnostic(job: str, text: str) -> Diagnostic:
    if mark := _MARK.search(text):
        found, _ = json.JSONDecoder().raw_decode(text, mark.end())
        return _of_mark(job, found)
    said = _ENVELOPE.sub("", text.partition(_PLAN)[0].strip())
    translated = (pattern.diagnostic(job, said) for pattern in PATTERNS)
    return next((found for found in translated if found), None) or Diagnostic(
        Code.JOB_FAILED,
        f'job "{job}" failed',
        detail=in_short(said),
        hint="Start it again to go on from its last finished batch; --verbose shows Spark's own words.",
    )


def in_short(said: str) -> str:
    """The line that tells most of a text with stack traces in it."""
    lines = [_ENVELOPE.sub("", line.strip()) for line in said.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    if causes:
        telling = causes[-1]
    elif _TRACEBACK in said:
        telling = lines[-1]
    else:
        thrown = [line.removeprefix(": ") for line in lines if line.startswith(": ")]  # as Py4J quotes the JVM
        telling = next(iter(thrown + lines), "Spark gave no reason")
    return _CONDITION.sub("", _CLASS_NAME.sub("", telling))


def _of_mark(job: str, found: dict[str, str]) -> Diagnostic:
    if found["code"] == Code.UNDECODABLE_MESSAGE:
        place = f"Topic {found['topic']}, partition {found['partition']}, offset {found['offset']}"
        return Diagnostic(
            Code.UNDECODABLE_MESSAGE,
            f'job "{job}" met a message that it cannot decode',
            detail=f"{place}: {found['text']}",
            hint="Correct what is produced, or skip such messages with the format's option 'ignore-parse-errors'.",
        )
    if found["code"] == Code.UNWRITABLE_ROW:
        return Diagnostic(
            Code.UNWRITABLE_ROW,
            f'job "{job}" has a row that cannot be written to table "{found["table"]}"',
            detail=found["why"],
            hint="Filter such rows in the query, or correct what chooses their topic or partition.",
        )
    return Diagnostic(
        Code.NULL_IN_KEY,
        f'job "{job}" would write NULL into column "{found["column"]}" of sink "{found["table"]}"',
        detail="The column is NOT NULL, as all columns of a primary key are.",
        hint="Filter such rows in the query with WHERE … IS NOT NULL, replace the NULL with COALESCE, "
        f"or drop them with SET '{NOT_NULL_ENFORCER.key}' = 'DROP'.",
    )
