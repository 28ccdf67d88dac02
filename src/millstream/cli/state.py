"""`millstream state`: how large the state of each operator is."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

from millstream.catalog.catalog import Catalog
from millstream.cli.arguments import checkpoint_of
from millstream.cli.check import compile_request
from millstream.cli.numbers import count, size
from millstream.runtime.checkpoint_place import checkpoint_folder
from millstream.runtime.state_report import report_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from millstream.cli.check import CheckRequest
    from millstream.runtime.state_report import JobState, OperatorState, StateReport

_HEADINGS: Final = ("table", "rows", "size", "segments", "pieces", "buckets", "newest batch")
_CHANGED: Final = "no longer in the script, or defined differently there"


def show_state(request: CheckRequest, checkpoint: str | None) -> int:
    program = compile_request(request, Catalog())
    root = checkpoint_folder(checkpoint_of(request.script, checkpoint))
    report = report_state(root.absolute(), program.jobs)
    for notice in (*(program.notices if program.unchecked else ()), *report.left_out):
        print(notice, file=sys.stderr)
    if request.as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        print("\n".join(_format_report(report)))
    return 0


def _format_report(report: StateReport) -> Iterator[str]:
    for number, job in enumerate(report.jobs):
        if number:
            yield ""
        yield from _format_job(job)
    if len(report.jobs) > 1:
        yield ""
        yield f"total: {count(report.rows)} rows, {size(report.bytes)}"


def _format_job(job: JobState) -> Iterator[str]:
    after = "no batch has finished yet" if job.batch is None else f"after batch {job.batch}"
    yield f"{job.job}: {count(job.rows)} rows, {size(job.bytes)}, in {job.buckets} buckets, {after}"
    for operator in job.operators:
        yield ""
        yield from _format_operator(operator)


def _format_operator(operator: OperatorState) -> Iterator[str]:
    yield f"  {operator.id}: {operator.description or _CHANGED}"
    if operator.event_time is not None:
        yield f"    {operator.event_time.text}"
    if not operator.tables:
        yield "    empty"
        return
    rows = [
        (
            table.table,
            count(table.rows),
            size(table.bytes),
            *map(count, (table.segments, table.pieces, table.buckets)),
            str(table.batch),
        )
        for table in operator.tables
    ]
    yield from (f"    {line}" for line in _align([_HEADINGS, *rows]))


def _align(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *numbers in rows:
        cells = (cell.rjust(width) for cell, width in zip(numbers, widths[1:], strict=True))
        yield "  ".join((first.ljust(widths[0]), *cells))
