"""Queries that must be understood alike, and queries that must not be half understood."""

from __future__ import annotations

import pytest

from millstream.errors import Code, ScriptError
from millstream.plan.program import compile_script
from millstream.runtime.earlier_identities import describe_state
from millstream.source import SourceText

TABLES = """
CREATE TABLE t (a BIGINT, b STRING, d DOUBLE, ts TIMESTAMP(3), xs ARRAY<STRING>, i INT) WITH (
  'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE plain (a BIGINT, b STRING) WITH (
  'connector' = 'kafka', 'topic' = 'p', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE counts (b STRING, n BIGINT, PRIMARY KEY (b) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'c', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE days (`day` DATE, n BIGINT, PRIMARY KEY (`day`) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'd', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE numbers (xs ARRAY<INT>) WITH (
  'connector' = 'kafka', 'topic' = 'n', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
"""


def codes(insert: str) -> list[Code]:
    try:
        compile_script(SourceText("s", f"{TABLES}{insert};"), {}, {})
    except ScriptError as error:
        return [diagnostic.code for diagnostic in error.diagnostics]
    return []


def shape(insert: str, tables: str = TABLES) -> list[str]:
    [compiled] = compile_script(SourceText("s", f"{tables}{insert};"), {}, {}).jobs
    return describe_state(compiled, 2)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT b, COUNT(*) FROM t GROUP BY `b`",
        "SELECT `b`, COUNT(*) FROM t GROUP BY b",
        "SELECT b, COUNT(*) FROM t GROUP BY (b)",
        "SELECT q.b, COUNT(*) FROM t AS q GROUP BY b",
        "SELECT b, COUNT(DISTINCT `b`) FROM t GROUP BY b",
    ],
)
def test_one_column_has_many_spellings(query: str) -> None:
    assert codes(f"INSERT INTO counts {query}") == []


@pytest.mark.parametrize(
    ("insert", "code"),
    [
        ("plain SELECT a, b FROM t /*+ OPTIONS('scan.startup.mod'='latest-offset') */", Code.UNDEFINED_OPTION),
        ("plain SELECT a, b FROM t TABLESAMPLE (10 PERCENT)", Code.UNSUPPORTED_STATEMENT),
        ("plain SELECT a, b FROM t SORT BY a", Code.UNSUPPORTED_STATEMENT),
        ("plain SELECT a, b FROM t ORDER BY a", Code.UNSUPPORTED_STATEMENT),
        ("plain SELECT a, b FROM db.t", Code.UNDEFINED_TABLE),
        ("plain SELECT a, b, FROM t", Code.SYNTAX),
        ("plain SELECT a, CONCAT(b, ) FROM t", Code.SYNTAX),
        ("counts SELECT b, COUNT(*) FROM t GROUP BY b,", Code.SYNTAX),
        ("plain SELECT zzz.* FROM t", Code.UNDEFINED_TABLE),
        ("counts SELECT b, COUNT(a, d) FROM t GROUP BY b", Code.TYPE_MISMATCH),
        ("counts SELECT b, COUNT(*) FILTER (WHERE a) FROM t GROUP BY b", Code.TYPE_MISMATCH),
        ("counts (b, b) SELECT b, b FROM t", Code.DUPLICATE_COLUMN),
        ("counts (n) SELECT a FROM t", Code.SINK_SCHEMA_MISMATCH),
        ("numbers SELECT xs FROM t", Code.SINK_SCHEMA_MISMATCH),
        ("plain SELECT d, b FROM t", Code.SINK_SCHEMA_MISMATCH),
    ],
)
def test_nothing_is_half_understood(insert: str, code: Code) -> None:
    assert code in codes(f"INSERT INTO {insert}")


def test_state_belongs_to_expressions_and_types() -> None:
    base = "INSERT INTO counts SELECT UPPER(b), SUM(a) FROM t GROUP BY UPPER(b)"
    assert shape(base) == shape(base.replace("SUM(a)", "SUM(a) + 1"))
    assert shape(base) == shape(base.replace("FROM t", "FROM t WHERE a > 5"))
    others = [
        shape(base.replace("UPPER", "LOWER")),
        shape(base.replace("SUM(a)", "SUM(a * 2)")),
        shape(base.replace("SUM(a)", "SUM(DISTINCT a)")),
        shape(base, TABLES.replace("(a BIGINT, b STRING, d", "(a INT, b STRING, d")),
        shape(base, TABLES.replace("'topic' = 't'", "'topic' = 'u'")),
    ]
    assert shape(base) not in others
    assert len({str(other) for other in others}) == len(others)


def test_failed_script_leaves_no_tables_behind() -> None:
    from millstream import Session

    session = Session()
    with pytest.raises(ScriptError):
        session.compile(f"{TABLES} INSERT INTO nowhere SELECT a FROM t;")
    assert session.compile(TABLES).jobs == ()


def test_settings_from_outside_win() -> None:
    script = SourceText("s", f"SET 'parallelism.default' = '7'; {TABLES} INSERT INTO plain SELECT a, b FROM t;")
    program = compile_script(script, {}, {}, overrides={"parallelism.default": "3"})
    assert dict(program.jobs[0].setting_texts) == {"parallelism.default": "3"}


@pytest.mark.parametrize(
    "query", ["counts SELECT 'all', COUNT(*) FROM t", "days SELECT CAST(ts AS DATE), COUNT(*) FROM t GROUP BY ts"]
)
def test_another_key_than_the_sink_is_materialised(query: str) -> None:
    [job] = compile_script(SourceText("s", f"{TABLES}INSERT INTO {query};"), {}, {}).jobs
    assert "Materialise(" in job.explain()
    settings = {"table.exec.sink.upsert-materialize": "NONE"}
    with pytest.raises(ScriptError) as refused:
        compile_script(SourceText("s", f"{TABLES}INSERT INTO {query};"), {}, settings)
    assert refused.value.code is Code.SINK_KEY_DIFFERS


def test_distinct_rows_are_inserts() -> None:
    assert codes("INSERT INTO plain SELECT DISTINCT a, b FROM t") == []


def test_rows_that_are_kept_belong_to_the_state() -> None:
    kept = shape("INSERT INTO days SELECT CAST(ts AS DATE), COUNT(*) FROM t GROUP BY ts")
    defined = 'day DATE NOT NULL = CAST("ts" AS DATE), n BIGINT = "$aggregate0"'
    assert kept[0] == f"keep rows [{defined}] by [day]"
