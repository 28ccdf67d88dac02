"""Aggregates over values of every exact type, from JSON to JSON, against an oracle in Python."""

from __future__ import annotations

import random
from collections import defaultdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from millstream import Session
from millstream.runtime.kafka.admin import KafkaAdmin
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name, produce, read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    Row = dict[str, Any]

SCRIPT = """
SET 'millstream.batch.max-rows' = '100';
CREATE TABLE events (k STRING, f DOUBLE, i INT, l BIGINT, m DECIMAL(20, 4), x DOUBLE, s STRING, ts TIMESTAMP(3),
  b BOOLEAN) WITH (
  'connector' = 'kafka', 'topic' = '${events}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
CREATE TABLE results (k STRING, f DOUBLE, n BIGINT, some_l BIGINT, positive BIGINT, sum_i INT, sum_l BIGINT,
  sum_m DECIMAL(38, 4), avg_i INT, avg_l BIGINT, min_l BIGINT, max_m DECIMAL(20, 4), min_x DOUBLE, max_x DOUBLE,
  min_s STRING, max_ts TIMESTAMP(3), max_b BOOLEAN, PRIMARY KEY (k, f) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = '${results}', 'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json', 'value.format' = 'json');
INSERT INTO results
SELECT k, f, COUNT(*), COUNT(l), COUNT(*) FILTER (WHERE i > 0), SUM(i), SUM(l), SUM(m), AVG(i), AVG(l), MIN(l), MAX(m),
  MIN(x), MAX(x), MIN(s), MAX(ts), MAX(b)
FROM events GROUP BY k, f;
"""


def make_events(number: int) -> list[Row]:
    """Few groups and large numbers, so that sums of BIGINT wrap; 0.0 and -0.0 are the same key."""
    chance = random.Random(number)
    values: dict[str, Callable[[], Any]] = {
        "i": lambda: chance.randint(-1000, 1000),
        "l": lambda: chance.choice([-(2**63), 2**63 - 1, chance.randint(-5, 5), chance.randint(-(2**63), 2**63 - 1)]),
        "m": lambda: f"{Decimal(chance.randint(-(10**19), 10**19)).scaleb(-4):.4f}",
        "x": lambda: chance.choice([0.0, -0.0, chance.uniform(-1e9, 1e9)]),
        "s": lambda: chance.choice(["", "a", "Z", "é", "\U0001f33e", "aa"]),
        "ts": lambda: f"2024-0{chance.randint(1, 9)}-01 00:00:00.{chance.randint(1, 99):02}7",
        "b": lambda: chance.random() < 0.1,
    }
    return [
        {"k": chance.choice("abc"), "f": chance.choice([0.0, -0.0, 1.5])}
        | {name: value() if chance.random() < 0.7 else None for name, value in values.items()}
        for _ in range(number)
    ]


def wrap(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def divide_toward_zero(number: int, by: int) -> int:
    return number // by if number >= 0 else -(-number // by)


def aggregate(k: str, f: float, rows: Sequence[Row]) -> Row:
    of = {name: [row[name] for row in rows if row[name] is not None] for name in ("i", "l", "m", "x", "s", "ts", "b")}
    amounts = [Decimal(text) for text in of["m"]]
    return {
        "k": k,
        "f": f,
        "n": len(rows),
        "some_l": len(of["l"]),
        "positive": sum(i > 0 for i in of["i"]),
        "sum_i": sum(of["i"]),
        "sum_l": wrap(sum(of["l"])),
        "sum_m": float(sum(amounts)),
        "avg_i": divide_toward_zero(sum(of["i"]), len(of["i"])),
        "avg_l": divide_toward_zero(wrap(sum(of["l"])), len(of["l"])),
        "min_l": min(of["l"]),
        "max_m": float(max(amounts)),
        "min_x": min(of["x"]),
        "max_x": max(of["x"]),
        "min_s": min(of["s"]),
        "max_ts": max(of["ts"]),
        "max_b": max(of["b"]),
    }


def test_aggregates_of_every_exact_type(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    parameters = {"brokers": broker, "events": fresh_name("events"), "results": fresh_name("results")}
    for name in ("events", "results"):
        KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(parameters[name], name)
    events = make_events(450)
    groups: dict[tuple[str, float], list[Row]] = defaultdict(list)
    for event in events:
        groups[event["k"], event["f"]].append(event)
    produce(broker, parameters["events"], events)
    with Session(spark, checkpoint=tmp_path) as session:
        session.execute_sql(SCRIPT, parameters=parameters, drain=True)[0].await_end(PATIENCE)
    found = read_table(broker, parameters["results"]).values()
    by_group = {(row["k"], row["f"]): row for row in found}
    assert len(by_group) == len(found) == 6
    assert by_group == {group: aggregate(*group, rows) for group, rows in groups.items()}
    assert any(abs(sum(row["l"] or 0 for row in rows)) >= 2**63 for rows in groups.values())
