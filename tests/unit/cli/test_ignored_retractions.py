"""Retractions of what was not there: always in JSON, for people only when there are some."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from millstream.cli.views import JsonView, PlainView, progress_table
from millstream.runtime.progress import Counted, JobProgress, progress_of

if TYPE_CHECKING:
    from collections.abc import Mapping


def progress(observed: Mapping[str, Any], before: JobProgress | None = None) -> JobProgress:
    report = {
        "batchId": 1,
        "numInputRows": 10,
        "sink": {"numOutputRows": 5},
        "durationMs": {"triggerExecution": 100},
        "sources": [],
        "observedMetrics": observed,
    }
    return progress_of("totals", report, before, Counted())


SOME = {"millstream-a": {"ignored": 3}, "millstream-b": {"ignored": None}, "mine": {"ignored": 100}}


def render_progress(job: JobProgress) -> str:
    console = Console(file=io.StringIO(), width=160)
    console.print(progress_table([job]))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_counts_of_all_operators_are_summed_and_go_on() -> None:
    first = progress(SOME)
    second = progress({"millstream-a": {"ignored": 1}}, first)
    assert (first.ignored_retractions, first.total_ignored_retractions) == (3, 3)
    assert (second.ignored_retractions, second.total_ignored_retractions) == (1, 4)


def test_json_always_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    with JsonView() as view:
        view.progress(progress({}))
    assert json.loads(capsys.readouterr().out)["ignored_retractions"] == 0


@pytest.mark.parametrize(("observed", "is_said"), [({}, False), (SOME, True)])
def test_people_see_them_when_there_are_some(
    observed: Mapping[str, Any], capsys: pytest.CaptureFixture[str], *, is_said: bool
) -> None:
    job = progress(observed)
    with PlainView() as view:
        view.progress(job)
    assert ("3 retractions ignored" in capsys.readouterr().out) is is_said
    assert ("ignored" in render_progress(job)) is is_said
