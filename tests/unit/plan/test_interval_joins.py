"""Which joins are bounded by event time, and within which bounds."""

from __future__ import annotations

import pytest

from millstream.plan.operators.filter import Filter
from millstream.plan.operators.interval_join import IntervalJoin
from millstream.plan.operators.join import Join
from millstream.plan.operators.node import Node, walk
from millstream.plan.program import compile_script
from millstream.source import SourceText

KAFKA = "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json'"
UPSERT = """'connector' = 'upsert-kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:9092',
    'key.format' = 'json', 'value.format' = 'json'"""
TABLES = f"""
CREATE TABLE a (id INT, x INT, ts TIMESTAMP(3), other TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts)
    WITH ({KAFKA});
CREATE TABLE b (id INT, x INT, ts TIMESTAMP(3), other TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts)
    WITH ({KAFKA});
CREATE TABLE zoned (id INT, ts TIMESTAMP_LTZ(3), WATERMARK FOR ts AS ts) WITH ({KAFKA});
CREATE TABLE coarse (id INT, ts TIMESTAMP(0), WATERMARK FOR ts AS ts) WITH ({KAFKA});
CREATE TABLE upserts (id INT, ts TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED, WATERMARK FOR ts AS ts) WITH ({UPSERT});
"""


def plan_of(query: str) -> list[Node]:
    [job] = compile_script(SourceText("s", f"{TABLES}{query};"), {}, {}).jobs
    return list(walk(job.roots[0]))


def interval_of(on: str, right: str = "b") -> tuple[int, int] | None:
    nodes = plan_of(f"SELECT a.x FROM a JOIN {right} AS b ON a.id = b.id AND {on}")
    joins = [node for node in nodes if isinstance(node, IntervalJoin)]
    assert len(joins) + sum(isinstance(node, Join) for node in nodes) == 1
    return (joins[0].interval.lower, joins[0].interval.upper) if joins else None


@pytest.mark.parametrize(
    ("on", "interval"),
    [
        ("a.ts BETWEEN b.ts - INTERVAL '1' SECOND AND b.ts + INTERVAL '2' SECOND", (-1000, 2000)),
        ("b.ts BETWEEN a.ts - INTERVAL '1' SECOND AND a.ts + INTERVAL '2' SECOND", (-2000, 1000)),
        ("a.ts > b.ts AND a.ts < b.ts + INTERVAL '1' MINUTE", (1, 59_999)),
        ("a.ts >= b.ts AND b.ts + INTERVAL '1' MINUTE >= a.ts", (0, 60_000)),
        ("a.ts - INTERVAL '1' HOUR <= b.ts AND INTERVAL '1' HOUR + a.ts >= b.ts", (-3_600_000, 3_600_000)),
        ("a.ts + INTERVAL '-1' HOUR - INTERVAL '1' DAY <= b.ts AND a.ts >= b.ts", (0, 90_000_000)),
        ("a.ts = b.ts", (0, 0)),
        ("a.ts = b.ts + INTERVAL '3' SECOND", (3000, 3000)),
        ("a.ts > b.ts AND a.ts > b.ts + INTERVAL '1' SECOND AND a.ts <= b.ts + INTERVAL '1' HOUR", (1001, 3_600_000)),
        ("a.ts >= b.ts + INTERVAL '0.0005' SECOND AND a.ts < b.ts + INTERVAL '0.0025' SECOND", (1, 2)),
        ("a.ts > b.ts + INTERVAL '1' SECOND AND a.ts < b.ts", (1001, -1)),
        ("a.ts BETWEEN b.ts - INTERVAL '1' SECOND AND b.ts AND a.other < b.other", (-1000, 0)),
        ("a.ts >= b.ts", None),
        ("a.ts BETWEEN b.other - INTERVAL '1' SECOND AND b.other", None),
        ("a.ts BETWEEN b.ts AND b.other", None),
        ("NOT a.ts BETWEEN b.ts AND b.ts + INTERVAL '1' SECOND", None),
        ("a.ts BETWEEN SYMMETRIC b.ts AND b.ts + INTERVAL '1' SECOND", None),
        ("a.ts BETWEEN b.ts - INTERVAL '1' MONTH AND b.ts", None),
        ("(a.ts BETWEEN b.ts - INTERVAL '1' SECOND AND b.ts OR a.x = b.x)", None),
        ("a.ts BETWEEN a.ts - INTERVAL '1' SECOND AND a.ts", None),
        ("CAST(a.ts AS TIMESTAMP(3)) BETWEEN b.ts - INTERVAL '1' DAY AND b.ts", None),
    ],
)
def test_the_interval_is_what_conditions_say(on: str, interval: tuple[int, int] | None) -> None:
    assert interval_of(on) == interval


@pytest.mark.parametrize("right", ["zoned", "upserts", "(SELECT id, ts, COUNT(*) AS n FROM b GROUP BY id, ts)"])
def test_only_inserts_with_times_of_one_kind_are_joined_in_time(right: str) -> None:
    assert interval_of("a.ts BETWEEN b.ts - INTERVAL '1' DAY AND b.ts", right) is None


def test_precision_of_times_does_not_matter() -> None:
    assert interval_of("a.ts BETWEEN b.ts - INTERVAL '1' DAY AND b.ts", "coarse") == (-86_400_000, 0)


def test_what_the_interval_says_is_not_tested_again() -> None:
    both = "a.ts BETWEEN b.ts - INTERVAL '1' DAY AND b.ts"
    assert not any(isinstance(node, Filter) for node in plan_of(f"SELECT a.x FROM a JOIN b ON a.id = b.id AND {both}"))
    [rest] = [
        node
        for node in plan_of(f"SELECT a.x FROM a JOIN b ON a.id = b.id AND {both} AND a.ts BETWEEN b.ts AND b.other")
        if isinstance(node, Filter)
    ]
    assert "other" in rest.label


def test_a_join_over_a_join_is_bounded_by_any_time_below() -> None:
    nodes = plan_of(
        """SELECT c.x FROM a JOIN b ON a.id = b.id AND a.ts = b.ts
        JOIN a AS c ON c.id = b.id AND c.ts BETWEEN b.ts AND b.ts + INTERVAL '1' HOUR"""
    )
    assert sum(isinstance(node, IntervalJoin) for node in nodes) == 2
    assert not any(isinstance(node, Join) for node in nodes)
