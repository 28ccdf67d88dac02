"""Late rows and event time: always in JSON, for people where something waits for event time."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from rich.console import Console

from millstream.cli.views import JsonView, PlainView, event_time_lines, progress_table
from millstream.runtime.event_times import EventTime, HeldBack
from millstream.runtime.progress import Counted, JobProgress, progress_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

LATE = {"millstream-a": {"ignored": 0, "late:window-1": 3}, "mine": {"late:x": 9}, "millstream-b": {"late:join-1": 0}}
TIMES = (
    EventTime("window-1", 1500, HeldBack("orders", "1", 1500), 0),
    EventTime("window-2", 500, HeldBack("orders", "0", 500), 2),
)


def progress(
    observed: Mapping[str, Any], before: JobProgress | None = None, times: tuple[EventTime, ...] = ()
) -> JobProgress:
    report = {
        "batchId": 1,
        "numInputRows": 10,
        "sink": {"numOutputRows": 5},
        "durationMs": {"triggerExecution": 100},
        "sources": [],
        "observedMetrics": observed,
    }
    return progress_of("totals", report, before, Counted(event_times=times))


def render(job: JobProgress) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(progress_table([job]), event_time_lines([job]))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_late_rows_are_counted_by_operator() -> None:
    first = progress(LATE)
    second = progress({"millstream-a": {"late:window-1": 1, "late:join-1": 2}}, first)
    third = progress({}, second)
    assert (first.late_rows, first.late) == (3, (("window-1", 3),))
    assert (second.late_rows, second.late) == (3, (("join-1", 2), ("window-1", 4)))
    assert (third.late_rows, third.late, third.total_late_rows) == (0, second.late, 6)


def test_json_always_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    with JsonView() as view:
        view.progress(progress({}))
        view.progress(progress(LATE, times=TIMES))
    none, some = map(json.loads, capsys.readouterr().out.splitlines())
    assert (none["late_rows"], none["total_late_rows"], none["late"], none["event_times"]) == (0, 0, {}, [])
    assert (some["late_rows"], some["total_late_rows"], some["late"]) == (3, 3, {"window-1": 3})
    assert [each["operator"] for each in some["event_times"]] == ["window-1", "window-2"]
    assert some["event_times"][1]["held_back_by"]["partition"] == "0"


def test_people_see_where_event_time_is_least_far(capsys: pytest.CaptureFixture[str]) -> None:
    said = "watermark 1970-01-01 00:00:00.500, held back by partition 0 of orders, 2 partitions idle"
    job = progress(LATE, times=TIMES)
    with PlainView() as view:
        view.progress(job)
    line = capsys.readouterr().out
    assert f", 3 late rows dropped so far, {said}" in line
    assert f"totals: {said}" in render(job)
    assert "late" in render(job)


def test_others_see_nothing_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    job = progress({})
    with PlainView() as view:
        view.progress(job)
    shown = capsys.readouterr().out + render(job)
    assert "late" not in shown
    assert "watermark" not in shown


def test_an_operator_that_knows_nothing_yet_is_least_far() -> None:
    unknown = EventTime("window-3", None, HeldBack("rates", None, None), 0)
    assert progress({}, times=(*TIMES, unknown)).slowest == unknown
