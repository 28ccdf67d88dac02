"""What a job says of event time: how far it has come, and what holds it back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from millstream.kernels.kept_time import FOLDER, save_time
from millstream.kernels.operator import MAX_WATERMARK
from millstream.kernels.watermark import OperatorTime, SplitReport, TimeSource
from millstream.plan.physical.planner import assign_ids
from millstream.plan.program import compile_script
from millstream.runtime.event_times import EventTime, HeldBack, event_times, time_text
from millstream.source import SourceText
from millstream.state.bucket import BucketState
from millstream.state.storage import LocalStorage
from tests.runtime.clocks import Clock, rule

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.plan.operators.node import Node
    from millstream.plan.program import JobPlan

KAFKA = "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json'"
TABLES = "".join(
    f"CREATE TABLE {name} (id BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ({KAFKA});"
    for name in ("orders", "rates")
)
ORDERS, RATES = TimeSource("scan-1", 1000), TimeSource("scan-2")
LOWER = TimeSource("clock-1", is_operator=True)


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> JobPlan:
    """A clock over both tables, and one over that."""
    with monkeypatch.context() as without_rules:
        without_rules.setattr("millstream.plan.compiler.RULES", ())
        jobs = compile_script(SourceText("s", f"{TABLES}SELECT * FROM orders; SELECT * FROM rates;"), {}, {}).jobs
    [orders, rates] = (job.roots[0].inputs[0] for job in jobs)
    lower: Node = Clock((orders, rates), orders.span, 1)
    root = jobs[0].roots[0].with_inputs(Clock((lower,), orders.span, 2))
    return replace(jobs[0], roots=assign_ids([rule(root, jobs[0].settings)]))


def told(job: JobPlan, folder: Path, lower: OperatorTime) -> list[EventTime]:
    upper = OperatorTime().advance(0, {"clock-1/": SplitReport(lower.watermark)}, [LOWER])
    storage = LocalStorage(folder)
    for batch, watermark in enumerate((0, lower.watermark)):
        for name, time in (("clock-1", lower), ("clock-2", upper)):
            (folder / name).mkdir(exist_ok=True)
            state = BucketState(storage, f"{name}/{FOLDER}", batch, retained=10)
            save_time(state, replace(time, watermark=watermark))
            state.commit()
    return list(event_times(job, storage, 1))


def advance(reports: dict[str, SplitReport], *, idle: bool = False) -> OperatorTime:
    time = OperatorTime().advance(0, reports, [ORDERS, RATES])
    for now in (1000, 2000) if idle else ():
        time = time.advance(now, {"scan-1/0": SplitReport(70)}, [ORDERS, RATES])
    return time


def test_before_every_table_has_rows(job: JobPlan, tmp_path: Path) -> None:
    times = told(job, tmp_path, advance({"scan-1/0": SplitReport(50)}))
    assert times == [EventTime(clock, None, HeldBack("rates", None, None), 0) for clock in ("clock-1", "clock-2")]
    assert times[0].text == "watermark none yet, held back by rates, which has had no rows"


def test_the_partition_that_has_come_least_far(job: JobPlan, tmp_path: Path) -> None:
    """Seen from an operator above, too."""
    reports = {"scan-1/0": 80, "scan-1/1": 61_005, "scan-2/1": 5000, "scan-2/0": -1}
    lower, upper = told(job, tmp_path, advance({name: SplitReport(time) for name, time in reports.items()}))
    assert lower == EventTime("clock-1", -1, HeldBack("rates", "0", -1), 0)
    assert upper == EventTime("clock-2", -1, HeldBack("rates", "0", -1), 0)
    assert lower.text == "watermark 1969-12-31 23:59:59.999, held back by partition 0 of rates"
    assert lower.as_json()["held_back_by"] == {
        "table": "rates",
        "partition": "0",
        "watermark": "1969-12-31 23:59:59.999",
    }


def test_an_idle_partition_does_not(job: JobPlan, tmp_path: Path) -> None:
    reports = {"scan-1/0": SplitReport(50), "scan-1/1": SplitReport(is_active=False), "scan-2/0": SplitReport(90)}
    lower, _ = told(job, tmp_path, advance(reports, idle=True))
    assert lower == EventTime("clock-1", 70, HeldBack("orders", "0", 70), 1)
    assert lower.text.endswith(", held back by partition 0 of orders, 1 partition idle")


def test_at_the_end_nothing_does(job: JobPlan, tmp_path: Path) -> None:
    ended = OperatorTime().advance(0, {}, [ORDERS, RATES], has_ended=True)
    lower, upper = told(job, tmp_path, ended)
    assert (lower.text, upper.held_back_by) == ("watermark ended", None)


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, None),
        (0, "1970-01-01 00:00:00.000"),
        (MAX_WATERMARK, "ended"),
        (MAX_WATERMARK - 1, "9223372036854775806 ms"),
        (-(1 << 63), "-9223372036854775808 ms"),
    ],
)
def test_a_time_that_no_calendar_has_is_a_number(milliseconds: int | None, text: str | None) -> None:
    assert time_text(milliseconds) == text
