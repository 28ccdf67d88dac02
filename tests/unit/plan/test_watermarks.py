"""Event time in plans: which columns are event-time attributes, and where a watermark is computed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from millstream.catalog.job_settings import JobSettings
from millstream.changelog import KIND, RowKind
from millstream.kernels.operator import MAX_WATERMARK, BatchTime
from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.node import Node, Unary, walk
from millstream.plan.physical.planner import assign_ids, plan_physically
from millstream.plan.program import compile_script
from millstream.plan.rules import RULES
from millstream.source import SourceText
from tests.unit.changelogs.plan_bench import PlanBench

if TYPE_CHECKING:
    from millstream.plan.operators.roots import Root
    from millstream.source import Span
    from tests.unit.changelogs.plan_time import PlanTime

KAFKA = "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json'"
ORDERS = f"""CREATE TABLE orders (id BIGINT, ts TIMESTAMP(3), seen AS PROCTIME(),
    WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ({KAFKA});"""
CLICKS = f"""CREATE TABLE clicks (id BIGINT, seconds BIGINT, ts AS TO_TIMESTAMP_LTZ(seconds * 1000, 3),
    tags ARRAY<STRING>, WATERMARK FOR ts AS ts) WITH ({KAFKA});"""
UPSERTS = """CREATE TABLE rates (id BIGINT, seconds BIGINT, ts AS TO_TIMESTAMP_LTZ(seconds, 0),
    PRIMARY KEY (id) NOT ENFORCED, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'upsert-kafka',
    'topic' = 't', 'properties.bootstrap.servers' = 'x:9092', 'key.format' = 'json', 'value.format' = 'json');"""


@dataclass(frozen=True, slots=True)
class Waiter(Unary):
    """Stands for an operator that needs time."""

    input: Node
    span: Span
    id: str = ""

    @property
    def label(self) -> str:
        return "Wait"

    @property
    def needs_time(self) -> bool:
        return True


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Gives the plan of a query before any rule."""

    def resolve(script: str) -> Root:
        with monkeypatch.context() as without_rules:
            without_rules.setattr("millstream.plan.compiler.RULES", ())
            [job] = compile_script(SourceText("s", script), {}, {}).jobs
        return job.roots[0]

    return resolve


def ruled(root: Root) -> Root:
    for rule in RULES:
        root = rule(root, JobSettings())
    return root


def labels(node: Node) -> list[str]:
    return [node.label.partition("(")[0], *(label for below in node.inputs for label in labels(below))]


@pytest.mark.parametrize(
    ("query", "rowtimes", "proctimes"),
    [
        ("SELECT id, ts, seen FROM orders WHERE id > 1", {"ts"}, {"seen"}),
        ("SELECT ts AS event, CAST(ts AS TIMESTAMP(0)) AS cut, PROCTIME() AS now FROM orders", {"event"}, {"now"}),
        ("SELECT id, ts FROM orders UNION ALL SELECT id, ts FROM orders", {"ts"}, set()),
        ("SELECT id, ts FROM orders UNION ALL SELECT id, CAST(ts AS TIMESTAMP(2)) FROM orders", set(), set()),
        ("SELECT ts, x FROM clicks CROSS JOIN UNNEST(tags) AS u (x)", {"ts"}, set()),
        ("SELECT o.ts, o.seen FROM orders AS o JOIN clicks AS c ON o.id = c.id", set(), {"seen"}),
        ("SELECT ts, COUNT(*) AS n FROM orders GROUP BY ts", set(), set()),
        (
            """SELECT id, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY seen) AS n FROM orders)
               WHERE n = 1""",
            {"ts"},
            set(),
        ),
    ],
)
def test_time_attributes(resolved: Any, query: str, rowtimes: set[str], proctimes: set[str]) -> None:
    [below] = resolved(f"{ORDERS}{CLICKS}{query};").inputs
    assert (below.rowtimes, below.proctimes) == (rowtimes, proctimes)


def test_a_watermark_that_nobody_waits_for_is_not_computed(resolved: Any) -> None:
    root = resolved(f"{ORDERS}SELECT id FROM orders WHERE id > 1;")
    assert "AssignWatermark" in labels(root)
    assert "AssignWatermark" not in labels(ruled(root))
    [below] = root.inputs
    waiting = root.with_inputs(Waiter(below, root.span))
    kept = labels(ruled(waiting))
    assert kept.index("Wait") < kept.index("AssignWatermark") < kept.index("Scan")


def test_the_watermark_of_upserts_is_taken_where_they_are_read(resolved: Any) -> None:
    root = resolved(f"{UPSERTS}SELECT id, ts FROM rates;")
    [below] = root.inputs
    waiting = ruled(root.with_inputs(Waiter(below, root.span)))
    assert labels(waiting) == ["Show", "Wait", "Project", "Normalise", "AssignWatermark", "Scan"]
    node: Node = waiting
    while not node.label.startswith("Assign"):
        [node] = node.inputs
    said = "AssignWatermark(rowtime=[ts], watermark=[TO_TIMESTAMP_LTZ(`seconds`, 0) - INTERVAL '1' SECOND])"
    assert node.label == said


@pytest.mark.parametrize(
    ("option", "setting", "idle_after"),
    [
        ("", "", timedelta(0)),
        ("", "SET 'table.exec.source.idle-timeout' = '3 s';", timedelta(seconds=3)),
        (
            ", 'scan.watermark.idle-timeout' = '1 s'",
            "SET 'table.exec.source.idle-timeout' = '3 s';",
            timedelta(seconds=1),
        ),
        (", 'scan.watermark.idle-timeout' = '0'", "SET 'table.exec.source.idle-timeout' = '3 s';", timedelta(0)),
    ],
    ids=["never", "by the setting", "by the table", "never by the table"],
)
def test_when_a_split_is_idle(resolved: Any, option: str, setting: str, idle_after: timedelta) -> None:
    """It also sets how often the job ticks, since nothing else happens while there are no rows."""
    table = ORDERS.replace(KAFKA, f"{KAFKA}{option}")
    [job] = compile_script(SourceText("s", f"{setting}{table}SELECT id FROM orders;"), {}, {}).jobs
    [below] = (root := resolved(f"{table}SELECT id FROM orders;")).inputs
    waiting = root.with_inputs(Waiter(below, root.span))
    for rule in RULES:
        waiting = rule(waiting, job.settings)
    [assigned] = (node for node in walk(waiting) if isinstance(node, AssignWatermark))
    assert assigned.idle_after == idle_after
    assert ("idleAfter" in assigned.label) is bool(idle_after)


def test_the_bench_of_plans_follows_the_watermark(resolved: Any) -> None:
    root = resolved(f"{ORDERS}SELECT id, ts FROM orders WHERE id > 1;")
    [below] = root.inputs
    [waiting] = assign_ids([ruled(root.with_inputs(Waiter(below, root.span)))])
    [physical] = plan_physically([waiting], JobSettings()).roots
    [waiter] = physical.inputs
    assert KIND not in waiter.operator.column_types()
    with duckdb.connect() as database:
        bench = FollowingBench(physical, database)
        ts = pa.scalar(10_000, pa.timestamp("ms")).as_py()
        later = pa.scalar(12_000, pa.timestamp("ms")).as_py()
        bench.step([(RowKind.INSERT, {"id": 2, "ts": ts}), (RowKind.INSERT, {"id": 1, "ts": later})])
        assert bench.time.advance(waiter, BatchTime()) == BatchTime(0, 7_000, None)
        bench.step([(RowKind.INSERT, {"id": 2, "ts": ts})], now=3)
        assert bench.time.advance(waiter, BatchTime(0, 7_000)) == BatchTime(3, 7_000, 7_000)
        bench.end(now=4)
        assert bench.time.advance(waiter, BatchTime(3, 7_000)) == BatchTime(4, MAX_WATERMARK, 7_000)


class FollowingBench(PlanBench):
    @property
    def time(self) -> PlanTime:
        return self._time

    def _build_over(self, node: Any, *inputs: Any) -> Any:
        return inputs[0] if isinstance(node.operator, Waiter) else super()._build_over(node, *inputs)
