"""Which passes over a shared scan stay in Python, and what returns the others to Spark."""

from __future__ import annotations

import pytest

from millstream.plan.program import compile_script
from millstream.source import SourceText

KAFKA = "'connector' = 'kafka', 'properties.bootstrap.servers' = 'x:9092'"
TABLES = f"""
CREATE TABLE plain (k STRING, i INT, m DECIMAL(10, 2), xs ARRAY<INT>) WITH ({KAFKA}, 'topic' = 'p', 'format' = 'json');
CREATE TABLE binary WITH ('topic' = 'b', 'format' = 'avro') LIKE plain (OVERWRITING OPTIONS);
CREATE TABLE texts (k STRING) WITH ({KAFKA}, 'topic' = 'x', 'format' = 'json');
CREATE TABLE spread WITH ('topic' = 'y', 'sink.parallelism' = '2') LIKE texts (OVERWRITING OPTIONS);
CREATE TABLE avro WITH ('topic' = 'a', 'format' = 'avro') LIKE texts (OVERWRITING OPTIONS);
CREATE TABLE placed (k STRING, place STRING METADATA FROM 'partition') WITH ({KAFKA}, 'topic' = 'l', 'format' = 'json');
CREATE TABLE headed (k STRING, h MAP<STRING, BYTES> METADATA FROM 'headers') WITH (
  {KAFKA}, 'topic' = 'h', 'format' = 'json');
CREATE TABLE counts (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'c', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
"""
OTHER = "INSERT INTO texts SELECT UPPER(k) FROM plain WHERE i > 0"


def plan_set(*inserts: str, settings: dict[str, str] | None = None) -> tuple[str | None, str]:
    """What is in the way of one pass in Python, and the physical plan."""
    script = f"{TABLES} EXECUTE STATEMENT SET BEGIN {'; '.join(inserts)}; END;"
    [job] = compile_script(SourceText("s", script), {}, settings or {}).jobs
    [shared] = job.physical.shared
    return shared.obstacle, job.explain().partition("== Physical Plan ==")[2]


@pytest.mark.parametrize(
    "insert",
    [
        "INSERT INTO texts SELECT k FROM plain",
        "INSERT INTO spread SELECT LOWER(k) FROM plain",
        "INSERT INTO avro SELECT k FROM plain",
        "INSERT INTO counts SELECT k, COUNT(DISTINCT m) FROM plain WHERE i > 0 GROUP BY k",
        "INSERT INTO counts SELECT COALESCE(k, '-'), COUNT(*) FROM plain GROUP BY ROLLUP (k)",
    ],
)
def test_readers_that_need_nothing_of_spark(insert: str) -> None:
    obstacle, stages = plan_set(OTHER, insert)
    assert obstacle is None
    assert "shared by" in stages
    assert "Filter [Python]" in stages
    assert "Filter [Spark" not in stages


@pytest.mark.parametrize(
    ("insert", "obstacle"),
    [
        ("INSERT INTO texts SELECT k FROM plain WHERE REGEXP(k, 'a+')", "REGEXP"),
        ("INSERT INTO headed SELECT k, MAP['a', X'01'] FROM plain", "MAP"),
        ("INSERT INTO headed SELECT k, CAST(NULL AS MAP<STRING, BYTES>) FROM plain", "messages of headed"),
        ("INSERT INTO counts SELECT 'all', COUNT(DISTINCT xs) FROM plain", "nested values of aggregate-1"),
        ("INSERT INTO counts SELECT 'all', COUNT(*) FROM plain", "rows without columns"),
    ],
)
def test_reader_that_needs_spark_is_told(insert: str, obstacle: str) -> None:
    found, stages = plan_set(OTHER, insert)
    assert found == obstacle
    assert f"[Spark: {obstacle}]" in stages
    assert "Filter [Python]" not in stages


def plan_pair(query: str) -> str:
    """The physical plan of an INSERT that reads a table in two places."""
    sink = "counts" if "COUNT" in query else "texts"
    [job] = compile_script(SourceText("s", f"{TABLES} INSERT INTO {sink} {query};"), {}, {}).jobs
    return job.explain().partition("== Physical Plan ==")[2]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT UPPER(x.k) FROM plain AS x JOIN (SELECT i FROM plain WHERE i > 0) AS y ON x.i = y.i",
        "SELECT x.k, COUNT(y.i) FROM plain AS x LEFT JOIN plain AS y ON x.i = y.i AND x.m < y.m GROUP BY x.k",
        "SELECT k FROM plain WHERE i IN (SELECT i + 1 FROM plain WHERE i > 0)",
        "SELECT k FROM plain INTERSECT SELECT LOWER(k) FROM plain",
    ],
)
def test_inputs_that_need_nothing_of_spark(query: str) -> None:
    stages = plan_pair(query)
    assert stages.count("Scan ") == 1
    assert "shared by both inputs of " in stages


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x.k FROM plain AS x JOIN plain AS y ON x.i = y.i WHERE REGEXP(x.k, 'a+')",
        "SELECT x.k FROM plain AS x JOIN plain AS y ON x.i = y.i AND x.xs = y.xs",
        "SELECT x.k FROM plain AS x JOIN (SELECT k FROM texts) AS y ON x.k = y.k",
        "SELECT k FROM plain UNION ALL SELECT k FROM plain",
    ],
)
def test_inputs_that_are_read_apart(query: str) -> None:
    stages = plan_pair(query)
    assert stages.count("Scan ") == 2
    assert "shared by" not in stages


def test_inputs_of_a_job_that_writes_exactly_once_are_read_apart() -> None:
    hint = "/*+ OPTIONS('sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'p') */"
    script = f"{TABLES} INSERT INTO texts {hint} SELECT x.k FROM plain AS x JOIN plain AS y ON x.i = y.i;"
    [job] = compile_script(SourceText("s", script), {}, {}).jobs
    assert len(job.scans) == 2


def test_source_whose_metadata_spark_converts() -> None:
    inserts = ("INSERT INTO texts SELECT place FROM placed", "INSERT INTO spread SELECT place FROM placed")
    assert plan_set(*inserts)[0] == "columns of placed"


def test_source_in_avro() -> None:
    inserts = ("INSERT INTO texts SELECT k FROM binary", "INSERT INTO spread SELECT k FROM binary")
    assert plan_set(*inserts)[0] is None


def test_rows_that_may_be_dropped() -> None:
    settings = {"table.exec.sink.not-null-enforcer": "drop"}
    assert plan_set(OTHER, "INSERT INTO texts SELECT k FROM plain", settings=settings)[0] == "messages of texts"
