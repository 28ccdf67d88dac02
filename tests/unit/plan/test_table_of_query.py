"""CREATE TABLE … AS: a table with the columns of a query, and an INSERT of its rows."""

from __future__ import annotations

import pytest

from millstream.errors import Code, ScriptError
from millstream.plan.operators.roots import Write
from millstream.plan.program import JobPlan, Listing, compile_script
from millstream.source import SourceText

TABLES = """
CREATE TABLE s (id BIGINT, name STRING, price DECIMAL(10, 2) NOT NULL, ts TIMESTAMP(3)) WITH ('connector' = 'datagen');
CREATE TABLE old (a INT) WITH ('connector' = 'print');"""
PRINT = "WITH ('connector' = 'print')"


def compile_text(text: str) -> tuple[list[str], list[JobPlan]]:
    program = compile_script(SourceText("s", f"{TABLES}{text}; DESCRIBE t;"), {}, {})
    [listing] = [step for step in program.steps if isinstance(step, Listing)]
    described = [" ".join((name, type_, *rest[:2])).strip() for name, type_, *rest in listing.rows]
    return described, list(program.jobs)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (f"CREATE TABLE t {PRINT} AS SELECT id, price AS p FROM s", ["id BIGINT TRUE", "p DECIMAL(10, 2) FALSE"]),
        (
            f"CREATE TABLE t (p, id) {PRINT} AS SELECT id, price AS p FROM s",
            ["p DECIMAL(10, 2) FALSE", "id BIGINT TRUE"],
        ),
        (
            f"CREATE TABLE t (name STRING, id INT) {PRINT} AS SELECT 1 AS id, 'x' AS n",
            ["name STRING TRUE", "id INT TRUE", "n CHAR(1) FALSE"],
        ),
        (
            f"CREATE TABLE t (twice AS price * 2, WATERMARK FOR ts AS ts) {PRINT} AS SELECT price, ts FROM s",
            ["twice DECIMAL(21, 2) FALSE", "price DECIMAL(10, 2) FALSE", "ts TIMESTAMP(3) *ROWTIME* TRUE"],
        ),
        (f"CREATE TABLE t {PRINT} AS VALUES (1, 'a'), (2, 'bc')", ["EXPR$0 INT FALSE", "EXPR$1 VARCHAR(2) FALSE"]),
        (f"CREATE TABLE t {PRINT} AS WITH x AS (SELECT id FROM s) SELECT * FROM x", ["id BIGINT TRUE"]),
    ],
)
def test_columns(text: str, columns: list[str]) -> None:
    described, [job] = compile_text(text)
    assert described == columns
    [write] = job.roots
    assert isinstance(write, Write)
    assert write.sink.table.name == "t"
    assert job.name == "t"


def test_a_key_makes_an_upsert_table() -> None:
    kafka = "'topic' = 't', 'properties.bootstrap.servers' = 'x:9092', 'key.format' = 'json', 'value.format' = 'json'"
    described, [job] = compile_text(
        f"CREATE TABLE t (PRIMARY KEY (name) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', {kafka}) "
        "AS SELECT name, COUNT(*) AS n FROM s GROUP BY name"
    )
    assert described == ["name STRING FALSE PRI(name)", "n BIGINT FALSE"]
    assert job.roots[0].upsert_key == ("name",)


def test_a_table_that_is_there_stays_as_it_is() -> None:
    program = compile_script(
        SourceText("s", f"{TABLES} CREATE TABLE IF NOT EXISTS old {PRINT} AS SELECT id FROM s; DESCRIBE old;"), {}, {}
    )
    assert program.jobs == ()
    assert any('table "old" exists: nothing is written into it' in notice for notice in program.notices)


def test_a_table_can_be_read_after_it() -> None:
    _, jobs = compile_text(
        "CREATE TABLE t WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:9092', "
        "'format' = 'json') AS SELECT id FROM s; SELECT id FROM t"
    )
    assert [job.name for job in jobs] == ["t", "select"]


@pytest.mark.parametrize(
    ("text", "code", "primary"),
    [
        (f"CREATE TABLE t {PRINT} AS SELECT nope FROM s", Code.UNDEFINED_COLUMN, "nope"),
        (f"CREATE TABLE t {PRINT} AS SELECT NULL AS n FROM s", Code.TYPE_MISMATCH, 'column "n" of the query'),
        (f"CREATE TABLE old {PRINT} AS SELECT id FROM s", Code.DUPLICATE_TABLE, 'table "old" already exists'),
        (f"CREATE TABLE t (id, x) {PRINT} AS SELECT id, name FROM s", Code.SINK_SCHEMA_MISMATCH, "each once"),
        (f"CREATE TABLE t (id) {PRINT} AS SELECT id, name FROM s", Code.SINK_SCHEMA_MISMATCH, "each once"),
        (f"CREATE TABLE t (name INT) {PRINT} AS SELECT id, name FROM s", Code.SINK_SCHEMA_MISMATCH, "do not match"),
        (f"CREATE TABLE t (x INT NOT NULL) {PRINT} AS SELECT id FROM s", Code.SINK_SCHEMA_MISMATCH, "is not given"),
        (f"CREATE TABLE t (PRIMARY KEY (x) NOT ENFORCED) {PRINT} AS SELECT id FROM s", Code.INVALID_PRIMARY_KEY, "x"),
        ("CREATE TABLE t AS SELECT id FROM s", Code.MISSING_CONNECTOR, "connector"),
    ],
)
def test_what_is_refused(text: str, code: Code, primary: str) -> None:
    with pytest.raises(ScriptError) as caught:
        compile_script(SourceText("s", f"{TABLES}{text};"), {}, {})
    problem = caught.value.diagnostics[0]
    assert problem.code is code
    assert primary in problem.primary
