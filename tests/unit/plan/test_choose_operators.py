"""Which aggregates run on Spark's own operator."""

from __future__ import annotations

import pytest

from millstream.plan.program import compile_script
from millstream.source import SourceText

KAFKA = "'properties.bootstrap.servers' = 'x:9092'"
JSON = "'key.format' = 'json', 'value.format' = 'json'"
TABLES = f"""
CREATE TABLE t (k STRING, i INT, l BIGINT, m DECIMAL(10, 2), d DOUBLE, s STRING, xs ARRAY<INT>) WITH (
  'connector' = 'kafka', 'topic' = 't', {KAFKA}, 'format' = 'json');
CREATE TABLE upserts (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'u', {KAFKA}, {JSON});
CREATE TABLE counts (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'c', {KAFKA}, {JSON});
CREATE TABLE pairs (k STRING, n BIGINT, m DECIMAL(38, 6), PRIMARY KEY (k) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'p', {KAFKA}, {JSON});
CREATE TABLE texts (k STRING, n BIGINT, s STRING, PRIMARY KEY (k) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'x', {KAFKA}, {JSON});
CREATE TABLE floats (k STRING, n BIGINT, d DOUBLE, PRIMARY KEY (k) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'f', {KAFKA}, {JSON});
CREATE TABLE printed (k STRING, n BIGINT) WITH ('connector' = 'print');
CREATE TABLE nowhere (k STRING, n BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE changes (k STRING, n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'd', {KAFKA}, 'format' = 'debezium-json');
"""
COUNT = "INSERT INTO counts SELECT k, COUNT(*) FROM t GROUP BY k"


def explain(statement: str, settings: dict[str, str] | None = None) -> str:
    return compile_script(SourceText("s", f"{TABLES}{statement};"), {}, settings or {}).jobs[0].explain()


@pytest.mark.parametrize(
    "statement",
    [
        COUNT,
        "INSERT INTO counts SELECT k, SUM(l) FROM t WHERE i > 0 GROUP BY k",
        "INSERT INTO counts SELECT k, COUNT(*) FROM t GROUP BY k HAVING k <> 'x'",
        "INSERT INTO pairs SELECT k, COUNT(*) FILTER (WHERE i > 0), SUM(m) FROM t GROUP BY k",
        "INSERT INTO pairs SELECT k, AVG(l) + MIN(i), SUM(m) FROM t GROUP BY k",
        "INSERT INTO texts SELECT k, COUNT(*), MAX(s) FROM t GROUP BY k",
        "INSERT INTO floats SELECT k, COUNT(*), MAX(d) FROM t GROUP BY k",
        "INSERT INTO nowhere SELECT k, COUNT(*) FROM t GROUP BY k",
        "INSERT INTO nowhere SELECT k, COUNT(*) FROM t GROUP BY ROLLUP (k)",
    ],
)
def test_native_where_both_operators_write_the_same(statement: str) -> None:
    assert "[native]" in explain(statement)
    assert "[kernel]" not in explain(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT k, COUNT(*) FROM t GROUP BY k",
        "INSERT INTO printed SELECT k, COUNT(*) FROM t GROUP BY k",
        "INSERT INTO changes SELECT k, COUNT(*) FROM t GROUP BY k",
        "INSERT INTO counts SELECT k, COUNT(DISTINCT i) FROM t GROUP BY k",
        "INSERT INTO counts SELECT k, COUNT(*) FROM upserts GROUP BY k",
        "INSERT INTO counts SELECT k, COUNT(*) FROM (SELECT DISTINCT k, i FROM t) GROUP BY k",
        "INSERT INTO counts SELECT k, COUNT(*) FROM t GROUP BY k HAVING COUNT(*) < 10",
        "INSERT INTO counts SELECT k, COUNT(*) FROM t GROUP BY k, i",
        "INSERT INTO counts SELECT k, MAX(l) FROM t GROUP BY k",
        "INSERT INTO floats SELECT k, COUNT(*), SUM(d) FROM t GROUP BY k",
        "INSERT INTO floats SELECT k, COUNT(*), AVG(d) FROM t GROUP BY k",
        "INSERT INTO pairs SELECT k, COUNT(*), AVG(m) FROM t GROUP BY k",
        "INSERT INTO pairs SELECT k, COUNT(*), STDDEV_POP(i) FROM t GROUP BY k",
        "INSERT INTO texts SELECT k, COUNT(*), LISTAGG(s) FROM t GROUP BY k",
        "INSERT INTO texts SELECT k, COUNT(*), LAST_VALUE(s) FROM t GROUP BY k",
        "INSERT INTO nowhere SELECT 'all', COUNT(*) FROM t",
        "INSERT INTO nowhere SELECT DISTINCT k, l FROM t",
    ],
)
def test_kernel_where_they_would_not(statement: str) -> None:
    assert "[kernel]" in explain(statement)
    assert "[native]" not in explain(statement)


@pytest.mark.parametrize("setting", [("millstream.aggregate.native", "never"), ("table.exec.state.ttl", "1 h")])
def test_setting_rules_it_out(setting: tuple[str, str]) -> None:
    assert "[native]" not in explain(COUNT, dict([setting]))
