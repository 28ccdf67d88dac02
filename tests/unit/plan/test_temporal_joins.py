"""Joins as of an event time: what versions are taken from, and what is refused."""

from __future__ import annotations

import pytest

from millstream.errors import ScriptError
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import walk
from millstream.plan.operators.normalise import Normalise
from millstream.plan.operators.rank import Rank
from millstream.plan.operators.temporal_join import TemporalJoin
from millstream.plan.program import compile_script
from millstream.source import SourceText

KAFKA = "'topic' = 't', 'properties.bootstrap.servers' = 'x:9092'"
UPSERT = f"'connector' = 'upsert-kafka', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json'"
TABLES = f"""
CREATE TABLE o (id BIGINT, small SMALLINT, word STRING, ts TIMESTAMP(3), other TIMESTAMP(3), WATERMARK FOR ts AS ts)
    WITH ('connector' = 'kafka', {KAFKA}, 'format' = 'json');
CREATE TABLE v (id INT, region STRING, x INT, since TIMESTAMP(3), PRIMARY KEY (id, region) NOT ENFORCED,
    WATERMARK FOR since AS since) WITH ({UPSERT});
CREATE TABLE no_time (id INT, since TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED) WITH ({UPSERT});
CREATE TABLE no_key (id INT, since TIMESTAMP(3), WATERMARK FOR since AS since)
    WITH ('connector' = 'kafka', {KAFKA}, 'format' = 'json');
CREATE VIEW last_of_each AS SELECT id, since FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY since DESC) AS rn FROM no_key) WHERE rn = 1;
CREATE VIEW first_of_each AS SELECT id, since FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY since) AS rn FROM no_key) WHERE rn = 1;
CREATE VIEW two_of_each AS SELECT id, since FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY since DESC) AS rn FROM no_key) WHERE rn <= 2;
CREATE VIEW filtered AS SELECT * FROM v WHERE x > 1;
CREATE VIEW counted AS SELECT id, MAX(since) AS since FROM no_key GROUP BY id;
"""
BOTH = "o.id = v.id AND o.word = v.region"


def join_of(query: str) -> tuple[TemporalJoin, list[str]]:
    [job] = compile_script(SourceText("s", f"{TABLES}{query};"), {}, {}).jobs
    nodes = list(walk(job.roots[0]))
    assert not any(isinstance(node, Normalise | Rank) for node in nodes)
    [join] = [node for node in nodes if isinstance(node, TemporalJoin)]
    return join, [node.label for node in nodes if isinstance(node, Filter)]


def test_a_key_that_is_converted_is_still_the_primary_key() -> None:
    join, filters = join_of(f"SELECT o.ts FROM o JOIN v FOR SYSTEM_TIME AS OF o.ts ON {BOTH}")
    assert len(join.left_keys) == 2
    assert join.right_time == "since"
    assert not filters


def test_other_equalities_are_conditions_on_the_version() -> None:
    inner, [filter_] = join_of(f"SELECT o.ts FROM o JOIN v FOR SYSTEM_TIME AS OF o.ts ON {BOTH} AND o.small = v.x")
    assert len(inner.left_keys) == 2
    assert "=" in filter_
    left, filters = join_of(
        f"SELECT o.ts FROM o LEFT JOIN v FOR SYSTEM_TIME AS OF o.ts ON {BOTH} AND o.small = v.x AND o.other < v.since"
    )
    assert not filters
    assert "=" in left.label.partition("condition")[2]
    assert "<" in left.label.partition("condition")[2]


def test_the_time_of_the_left_side_stays_an_event_time() -> None:
    join, _ = join_of(f"SELECT o.ts, v.since FROM o JOIN v FOR SYSTEM_TIME AS OF o.ts ON {BOTH}")
    assert join.rowtimes == {"ts"}


@pytest.mark.parametrize(
    ("table", "on", "why"),
    [
        ("no_time", "o.id = v.id", "has no event time"),
        ("no_key", "o.id = v.id", "has no primary key"),
        ("counted", "o.id = v.id", "has no event time"),
        ("v", "o.id = v.id", "the primary key of"),
        ("v", "o.id = v.x", "the primary key of"),
        ("v", "o.id > v.id", "no condition says which row"),
        ("filtered", BOTH, "cannot be filtered"),
        ("first_of_each", "o.id = v.id", "not the last of each key"),
        ("two_of_each", "o.id = v.id", "has no primary key"),
    ],
)
def test_what_has_no_versions_is_refused_by_name(table: str, on: str, why: str) -> None:
    with pytest.raises(ScriptError) as caught:
        join_of(f"SELECT o.ts FROM o JOIN {table} FOR SYSTEM_TIME AS OF o.ts AS v ON {on}")
    assert [why in problem.primary for problem in caught.value.diagnostics] == [True]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (f"SELECT 1 FROM o JOIN v FOR SYSTEM_TIME AS OF o.other ON {BOTH}", "needs a time attribute"),
        (f"SELECT 1 FROM o JOIN v FOR SYSTEM_TIME AS OF CURRENT_TIMESTAMP ON {BOTH}", "needs a time attribute"),
        (f"SELECT 1 FROM o RIGHT JOIN v FOR SYSTEM_TIME AS OF o.ts ON {BOTH}", "a right join"),
        ("SELECT 1 FROM v AS o JOIN v FOR SYSTEM_TIME AS OF o.since ON o.id = v.id", "updated or deleted"),
        (
            f"SELECT 1 FROM o LEFT JOIN v FOR SYSTEM_TIME AS OF o.ts ON {BOTH} AND PARSE_URL(v.region, 'HOST') = 'x'",
            "PARSE_URL in the condition of a temporal join",
        ),
    ],
)
def test_joins_that_cannot_be_as_of_a_time_are_refused_by_name(query: str, why: str) -> None:
    with pytest.raises(ScriptError) as caught:
        join_of(query)
    assert [why in problem.primary for problem in caught.value.diagnostics] == [True]
