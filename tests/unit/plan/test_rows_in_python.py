"""Which scripts leave Spark no row to work on, so that its JVM can be tuned for starting."""

from __future__ import annotations

import pytest

from millstream.plan.program import compile_script
from millstream.source import SourceText

KAFKA = "'connector' = 'kafka', 'properties.bootstrap.servers' = 'x:9092'"
TABLES = f"""
CREATE TABLE views (k STRING, i INT, xs ARRAY<INT>) WITH ({KAFKA}, 'topic' = 'v', 'format' = 'json');
CREATE TABLE binary WITH ('topic' = 'b', 'format' = 'avro') LIKE views (OVERWRITING OPTIONS);
CREATE TABLE texts (k STRING) WITH ({KAFKA}, 'topic' = 't', 'format' = 'json');
CREATE TABLE avro WITH ('topic' = 'a', 'format' = 'avro') LIKE texts (OVERWRITING OPTIONS);
CREATE TABLE files (k STRING) WITH ('connector' = 'filesystem', 'path' = '/in', 'format' = 'csv');
CREATE TABLE shown (k STRING) WITH ('connector' = 'print');
CREATE TABLE counts (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'c', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
"""
SET = "EXECUTE STATEMENT SET BEGIN INSERT INTO texts SELECT k FROM views; INSERT INTO texts {}; END"


def keeps_rows_in_python(*statements: str) -> bool:
    program = compile_script(SourceText("s", TABLES + "".join(f"{each};" for each in statements)), {}, {})
    return program.keeps_rows_in_python


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO texts SELECT UPPER(k) FROM views WHERE i > 0",
        "INSERT INTO counts SELECT k, COUNT(*) FROM views GROUP BY k",
        "INSERT INTO texts SELECT k FROM views UNION ALL SELECT k FROM texts",
        "INSERT INTO avro SELECT k FROM binary",
        SET.format("SELECT LOWER(k) FROM views"),
    ],
)
def test_all_is_done_in_python(statement: str) -> None:
    assert keeps_rows_in_python(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO texts SELECT k FROM views WHERE REGEXP(k, 'a+')",
        "INSERT INTO texts SELECT k FROM files",
        "INSERT INTO texts VALUES ('a')",
        "INSERT INTO shown SELECT k FROM views",
        "SELECT k FROM views",
        SET.format("SELECT k FROM views WHERE REGEXP(k, 'a+')"),
    ],
)
def test_something_needs_spark(statement: str) -> None:
    assert not keeps_rows_in_python(statement)


def test_one_job_of_several_is_enough() -> None:
    assert not keeps_rows_in_python("INSERT INTO texts SELECT k FROM views", "INSERT INTO texts SELECT k FROM files")
