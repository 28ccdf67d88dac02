"""Messages that were skipped or set aside: always in JSON, for people only when there are some."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from millstream.cli.views import JsonView, PlainView, progress_table
from millstream.runtime.progress import Counted, JobProgress, progress_of


def progress(skipped: int = 0, dead_letters: int = 0) -> JobProgress:
    report = {
        "batchId": 1,
        "numInputRows": 10,
        "sink": {"numOutputRows": 5},
        "durationMs": {"triggerExecution": 100},
        "sources": [],
    }
    return progress_of("totals", report, None, Counted(skipped=skipped, dead_letters=dead_letters))


def render_progress(job: JobProgress) -> str:
    console = Console(file=io.StringIO(), width=160)
    console.print(progress_table([job]))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_json_always_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    with JsonView() as view:
        view.progress(progress(skipped=3))
    reported = json.loads(capsys.readouterr().out)
    assert (reported["skipped"], reported["dead_letters"]) == (3, 0)


@pytest.mark.parametrize(
    ("job", "line", "heading"),
    [
        (progress(skipped=3), "3 skipped so far", "skipped"),
        (progress(dead_letters=4), "4 dead letters so far", "dead letters"),
    ],
)
def test_people_see_them_when_there_are_some(
    job: JobProgress, line: str, heading: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with PlainView() as view:
        view.progress(progress())
        view.progress(job)
    before, after = capsys.readouterr().out.strip().splitlines()[-2:]
    assert line not in before
    assert line in after
    assert heading not in render_progress(progress())
    assert heading in render_progress(job)
