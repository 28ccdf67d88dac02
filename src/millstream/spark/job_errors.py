"""Translates Spark's exceptions into the user's terms, by failure_patterns; the only place that does so."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812

from millstream.catalog.settings_of_flink import NOT_NULL_ENFORCER
from millstream.connectors.kafka.scan_options import DEAD_LETTER_TOPIC
from millstream.delivery.delivery_error import Failure
from millstream.errors import Code, Diagnostic, JobError
from millstream.formats.decoded import preview
from millstream.formats.json_format import IGNORE_PARSE_ERRORS
from millstream.formats.registry import FORMATS
from millstream.spark.delivery_failures import CODES, undelivered_error
from millstream.spark.failure_patterns import PATTERNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import Column

    from millstream.errors import MillstreamError
    from millstream.source import Span

# Spark's exceptions end with the query's plan, which contains our marks too: only a raised one counts.
_RAISED: Final = (
    r"\[USER_RAISED_EXCEPTION\]|(?:UndecodableMessage|UnwritableRow|NullInKey|DeadLetter|Undelivered)Error:"
)
_MARK: Final = re.compile(rf"(?:{_RAISED}) <<millstream ")
_PLAN: Final = "\n=== Streaming Query ==="
_ENVELOPE: Final = re.compile(r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: |(?: SQLSTATE: \w{5})+$")
_CONDITION: Final = re.compile(r"^\[[A-Z_.]+\] ")
_CLASS_NAME: Final = re.compile(r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ")
_SENT_BYTES: Final = 600
"""The part of an undecodable message that a native expression reports; less than that is shown."""
_TRACEBACK: Final = "Traceback (most recent call last):"


class SparkFailureError(Exception):
    """Spark's message. Its own exceptions fetch their text from the JVM, which may be gone when it is shown."""


@dataclass(frozen=True, slots=True)
class TableHalf:
    """The key or the value of a table's messages."""

    table: str
    half: str
    format: str


class UndecodableMessageError(Exception):
    """Raised in a Python worker; its text reaches the driver inside Spark's exceptions."""

    def __init__(self, of: TableHalf, topic: str, partition: int, offset: int, text: str) -> None:
        parameters = {**asdict(of), "topic": topic, "partition": partition, "offset": offset, "text": text}
        super().__init__(_mark(Code.UNDECODABLE_MESSAGE, **parameters))


class UnwritableRowError(Exception):
    """Also raised in a Python worker; `why` is a sentence."""

    def __init__(self, table: str, why: str) -> None:
        super().__init__(_mark(Code.UNWRITABLE_ROW, table=table, why=why))


class NullInKeyError(Exception):
    """Raised in a Python worker that would write NULL into a NOT NULL column of a sink."""

    def __init__(self, column: str, table: str) -> None:
        super().__init__(null_in_key(column, table))


class DeadLetterError(Exception):
    """Raised in a Python worker that could not write to a dead-letter topic; `why` is the message of Kafka's client.

    `place` is where the message was read; `refused_bytes` is its size if that is the reason.
    """

    def __init__(self, table: str, topic: str, why: str, place: str, refused_bytes: int | None = None) -> None:
        size = {} if refused_bytes is None else {"bytes": refused_bytes}
        super().__init__(_mark(Code.JOB_FAILED, table=table, topic=topic, why=why, place=place, **size))


class UndeliveredError(Exception):
    """Raised in a Python worker whose messages did not reach Kafka; `why` is a sentence."""

    def __init__(self, table: str, failure: Failure, why: str) -> None:
        super().__init__(_mark(CODES[failure], table=table, failure=failure, why=why))


def undecodable_message(of: TableHalf, text: str) -> Column:
    """The same failure, raised by a native expression over the columns of Spark's Kafka source."""
    return _raise(
        Code.UNDECODABLE_MESSAGE,
        *(_named_literal(name, part) for name, part in asdict(of).items()),
        *(F.col(name) for name in ("topic", "partition", "offset")),
        _named_literal("text", text),
        F.hex(F.substring(of.half, 1, _SENT_BYTES)).alias("payload"),
        F.length(of.half).alias("size"),
    )


def unwritable_row(table: str, why: Column) -> Column:
    """The same failure, raised by a native expression over a row to be written."""
    return _raise(Code.UNWRITABLE_ROW, _named_literal("table", table), why.alias("why"))


def null_in_key(column: str, table: str) -> str:
    return _mark(Code.NULL_IN_KEY, column=column, table=table)


def _named_literal(name: str, text: str) -> Column:
    return F.lit(text).alias(name)


def _raise(code: Code, *parameters: Column) -> Column:
    mark = F.to_json(F.struct(_named_literal("code", str(code)), *parameters))
    return F.raise_error(F.concat(F.lit("<<millstream "), mark, F.lit(">>")))


def _mark(code: Code, **parameters: str | int) -> str:
    return f"<<millstream {json.dumps({'code': code, **parameters})}>>"


def job_error(
    job: str,
    error: BaseException,
    causes: Iterable[str] = (),
    *,
    tables: Mapping[str, Span] | None = None,
    discreet: Callable[[str], str] = str,
) -> MillstreamError:
    """The error of a failed query, at the table concerned, with the original exception as its cause.

    `causes` are exceptions that Spark does not report, from the first to the last; `discreet` masks secrets.
    """
    message, plan, shown = str(error).partition(_PLAN)
    text = discreet("\n".join([message, *(f"Caused by: {cause}" for cause in causes)]) + plan + shown)
    failure = JobError(_diagnostic(job, text, tables or {}))
    failure.__cause__ = SparkFailureError(text)
    return failure


def _diagnostic(job: str, text: str, tables: Mapping[str, Span]) -> Diagnostic:
    if mark := _MARK.search(text):
        found, _ = json.JSONDecoder().raw_decode(text, mark.end())
        return replace(_translate_mark(job, found), span=tables.get(found["table"]))
    message = _ENVELOPE.sub("", text.partition(_PLAN)[0].strip())
    translated = (pattern.diagnostic(job, message) for pattern in PATTERNS)
    return next((found for found in translated if found), None) or Diagnostic(
        Code.JOB_FAILED,
        f'job "{job}" failed',
        detail=in_short(message),
        hint="Start it again to continue from its last finished batch; --verbose shows Spark's own message.",
    )


def in_short(message: str) -> str:
    """The most informative line of a text that contains stack traces."""
    lines = [_ENVELOPE.sub("", line.strip()) for line in message.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    if causes:
        telling = causes[-1]
    elif _TRACEBACK in message:
        telling = lines[-1]
    else:
        thrown = [line.removeprefix(": ") for line in lines if line.startswith(": ")]  # as Py4J quotes the JVM
        telling = next(iter(thrown + lines), "Spark gave no reason")
    return _CONDITION.sub("", _CLASS_NAME.sub("", telling))


def _translate_mark(job: str, found: dict[str, Any]) -> Diagnostic:
    if "failure" in found:
        return undelivered_error(job, found["table"], Failure(found["failure"]), found["why"])
    if found["code"] == Code.UNDECODABLE_MESSAGE:
        return _undecodable(job, found)
    if found["code"] == Code.JOB_FAILED:
        return _unwritten_letter(job, found)
    if found["code"] == Code.UNWRITABLE_ROW:
        return Diagnostic(
            Code.UNWRITABLE_ROW,
            f'job "{job}" has a row that cannot be written to table "{found["table"]}"',
            detail=found["why"],
            hint="Filter such rows in the query, or correct what chooses their topic, partition or timestamp.",
        )
    return Diagnostic(
        Code.NULL_IN_KEY,
        f'job "{job}" would write NULL into column "{found["column"]}" of sink "{found["table"]}"',
        detail="The column is NOT NULL, as all columns of a primary key are.",
        hint="Filter such rows in the query with WHERE … IS NOT NULL, replace the NULL with COALESCE, "
        f"or drop them with SET '{NOT_NULL_ENFORCER.key}' = 'DROP'.",
    )


def _unwritten_letter(job: str, found: dict[str, Any]) -> Diagnostic:
    remedy = "Make sure that the topic exists and can be written to."
    if "bytes" in found:
        remedy = (
            f"With its headers the message has {found['bytes']} bytes: set max.message.bytes of topic "
            f'"{found["topic"]}" to more than that.'
        )
    return Diagnostic(
        Code.JOB_FAILED,
        f'job "{job}" could not write a dead letter of table "{found["table"]}" to topic "{found["topic"]}"',
        detail=f"{found['place']}: {found['why']}.",
        hint=f"{remedy} Start the job again to continue from its last finished batch.",
    )


def _undecodable(job: str, found: dict[str, Any]) -> Diagnostic:
    place = f"Topic {found['topic']}, partition {found['partition']}, offset {found['offset']}, {found['half']}"
    text = found["text"]
    if "payload" in found:
        text = f"{text} It is '{preview(bytes.fromhex(found['payload']), found['size'])}'."
    can_skip = any(option.key == IGNORE_PARSE_ERRORS.key for option in FORMATS[found["format"]].options)
    skipping = f", or skip them with option '{IGNORE_PARSE_ERRORS.key}' of format '{found['format']}'"
    return Diagnostic(
        Code.UNDECODABLE_MESSAGE,
        f'job "{job}" read a message of table "{found["table"]}" that it cannot decode',
        detail=f"{place}: {text}",
        hint=f"Correct what is produced, set such messages aside with '{DEAD_LETTER_TOPIC.key}'"
        f"{skipping if can_skip else ''}.",
    )
