"""Spark's exceptions, told in the user's terms. The one place where they are translated."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, JobError

if TYPE_CHECKING:
    from millstream.errors import MillstreamError

_MARK: Final = re.compile(r"<<millstream (.*?)>>", re.DOTALL)
_CLASS_NAME: Final = re.compile(r"^(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ")


class UndecodableMessageError(Exception):
    """Raised in a Python worker; its text travels through Spark's exceptions to the driver."""

    def __init__(self, topic: str, partition: int, offset: int, text: str) -> None:
        super().__init__(_marked(Code.UNDECODABLE_MESSAGE, topic=topic, partition=partition, offset=offset, text=text))


def null_in_key(column: str, table: str) -> str:
    return _marked(Code.NULL_IN_KEY, column=column, table=table)


def _marked(code: Code, **parameters: str | int) -> str:
    return f"<<millstream {json.dumps({'code': code, **parameters})}>>"


def job_error(job: str, error: BaseException) -> MillstreamError:
    """The error of a failed query; the original stays behind it as the cause."""
    text = str(error)
    failure = JobError(_diagnostic(job, text))
    failure.__cause__ = error
    return failure


def _diagnostic(job: str, text: str) -> Diagnostic:
    if mark := _MARK.search(text):
        found = json.loads(mark.group(1).replace('\\"', '"') if '\\"' in mark.group(1)[:12] else mark.group(1))
        return _of_mark(job, found)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    said = causes[-1] if causes else (lines[0] if lines else "Spark gave no reason")
    return Diagnostic(
        Code.JOB_FAILED,
        f'job "{job}" failed',
        detail=_CLASS_NAME.sub("", said),
        hint="Start it again to go on from its last finished batch; --verbose shows Spark's own words.",
    )


def _of_mark(job: str, found: dict[str, str]) -> Diagnostic:
    if found["code"] == Code.UNDECODABLE_MESSAGE:
        place = f"topic {found['topic']}, partition {found['partition']}, offset {found['offset']}"
        return Diagnostic(
            Code.UNDECODABLE_MESSAGE,
            f'job "{job}" met a message that it cannot decode',
            detail=f"{place}: {found['text']}",
            hint="Correct what is produced, or set 'json.ignore-parse-errors' = 'true' to skip such messages.",
        )
    return Diagnostic(
        Code.NULL_IN_KEY,
        f'column "{found["column"]}" of sink "{found["table"]}" is NOT NULL, and job "{job}" would write NULL into it',
        hint=f"Filter such rows: WHERE {found['column']} IS NOT NULL.",
    )
