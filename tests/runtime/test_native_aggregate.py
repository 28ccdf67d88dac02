"""Spark's own aggregation and the kernel have the same result, and a job stays on the one it began with."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from millstream import Session
from millstream.errors import Code, JobError
from millstream.runtime.kafka.admin import KafkaAdmin
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name, produce, read_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

TABLES = """
SET 'millstream.batch.max-rows' = '100';
CREATE TABLE events (k STRING, f DOUBLE, i INT, l BIGINT, m DECIMAL(20, 4), x DOUBLE, s STRING, ts TIMESTAMP(3),
  b BOOLEAN) WITH (
  'connector' = 'kafka', 'topic' = '${events}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
CREATE TABLE results (k STRING, f DOUBLE, n BIGINT, some_l BIGINT, positive BIGINT, sum_i INT, sum_l BIGINT,
  sum_m DECIMAL(38, 4), avg_i INT, avg_l BIGINT, min_l BIGINT, max_m DECIMAL(20, 4), min_x DOUBLE, max_x DOUBLE,
  min_s STRING, max_ts TIMESTAMP(3), max_b BOOLEAN, PRIMARY KEY (k, f) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = '${results}', 'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json', 'value.format' = 'json');
"""
INSERT = """
INSERT INTO results
SELECT k, f, COUNT(*), COUNT(l), COUNT(*) FILTER (WHERE i > 0), SUM(i), SUM(l), SUM(m), AVG(i), AVG(l), MIN(l), MAX(m),
  MIN(x), MAX(x), MIN(s), MAX(ts), MAX(b)
FROM events GROUP BY k, f;
"""
NEVER = "SET 'millstream.aggregate.native' = 'never';"


@pytest.fixture
def parameters(broker: str) -> dict[str, str]:
    names = {"events": fresh_name("events"), "results": fresh_name("results"), "others": fresh_name("others")}
    for topic in names.values():
        KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(topic, topic)
    return {"brokers": broker, **names}


def events(number: int) -> list[dict[str, Any]]:
    """Few groups and large numbers, so that sums of BIGINT wrap; 0.0 and -0.0 are the same key."""
    chance = random.Random(number)
    values: dict[str, Callable[[], Any]] = {
        "i": lambda: chance.randint(-1000, 1000),
        "l": lambda: chance.choice([-(2**63), 2**63 - 1, chance.randint(-5, 5), chance.randint(-(2**63), 2**63 - 1)]),
        "m": lambda: f"{chance.randint(-(10**19), 10**19) / 10**4:.4f}",
        "x": lambda: chance.choice([0.0, -0.0, chance.uniform(-1e9, 1e9)]),
        "s": lambda: chance.choice(["", "a", "Z", "é", "\U0001f33e", "aa"]),
        "ts": lambda: f"2024-0{chance.randint(1, 9)}-01 00:00:00.{chance.randint(0, 999):03}",
        "b": lambda: chance.random() < 0.1,
    }
    return [
        {"k": chance.choice("abc"), "f": chance.choice([0.0, -0.0, 1.5])}
        | {name: value() if chance.random() < 0.7 else None for name, value in values.items()}
        for _ in range(number)
    ]


def run(spark: SparkSession, folder: Path, script: str, parameters: dict[str, str]) -> list[str]:
    notices: list[str] = []
    with Session(spark, checkpoint=folder, on_notice=notices.append) as session:
        session.execute_sql(script, parameters=parameters, drain=True)[0].await_end(PATIENCE)
    return notices


def test_both_operators_make_the_same_table(
    broker: str, spark: SparkSession, parameters: dict[str, str], tmp_path: Path
) -> None:
    produce(broker, parameters["events"], events(450))
    run(spark, tmp_path / "native", TABLES + INSERT, parameters)
    run(spark, tmp_path / "kernel", NEVER + TABLES + INSERT, parameters | {"results": parameters["others"]})
    native = read_table(broker, parameters["results"])
    assert native == read_table(broker, parameters["others"])
    assert sum(row["n"] for row in native.values()) == 450


@pytest.mark.slow
def test_job_stays_on_the_operator_it_began_on(
    broker: str, spark: SparkSession, parameters: dict[str, str], tmp_path: Path
) -> None:
    began, later = tmp_path / "kernel", tmp_path / "native"
    others = parameters | {"results": parameters["others"]}
    for rows in (events(30), events(40)):
        produce(broker, parameters["events"], rows)
        run(spark, later, TABLES + INSERT, parameters)
    run(spark, began, NEVER + TABLES + INSERT, others)
    produce(broker, parameters["events"], events(50))
    run(spark, later, TABLES + INSERT, parameters)
    assert [notice for notice in run(spark, began, TABLES + INSERT, others) if "stays on the kernel" in notice]
    assert read_table(broker, parameters["results"]) == read_table(broker, parameters["others"])
    with pytest.raises(JobError) as refused:
        run(spark, later, NEVER + TABLES + INSERT, parameters)
    assert refused.value.code is Code.CHECKPOINT_MISMATCH
    assert "millstream.aggregate.native" in str(refused.value)
