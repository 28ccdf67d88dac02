"""Of rows in columns, a scan decodes the fields that somebody needs."""

from __future__ import annotations

import pytest

from millstream.plan.program import compile_script
from millstream.source import SourceText

KAFKA = "'connector' = 'kafka', 'properties.bootstrap.servers' = 'x:9092'"
TABLES = f"""
CREATE TABLE t (k INT, r ROW<a INT, b STRING, s ROW<x INT, y INT>>, o ROW<c INT, d INT>) WITH (
  {KAFKA}, 'topic' = 't', 'format' = 'json');
CREATE TABLE strict WITH ('topic' = 's', 'json.fail-on-missing-field' = 'true') LIKE t;
CREATE TABLE binary (k INT, r ROW<a INT, b STRING>) WITH ({KAFKA}, 'topic' = 'b', 'format' = 'avro');
CREATE TABLE keyed (r ROW<a INT, b INT>, o ROW<c INT, d INT>, PRIMARY KEY (r) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'u', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE sink (a INT) WITH ({KAFKA}, 'topic' = 'x', 'format' = 'json');
CREATE TABLE texts (b STRING) WITH ({KAFKA}, 'topic' = 'y', 'format' = 'json');
CREATE VIEW kept AS SELECT k, r, o.c AS c FROM t WHERE k > 0;
"""
R = "ROW<a INT, b STRING, s ROW<x INT, y INT>>"


def scanned(*statements: str) -> list[list[str]]:
    """The types of the columns of each scan."""
    script = f"{TABLES} {'; '.join(statements)};"
    [job] = compile_script(SourceText("s", script), {}, {}).jobs
    return [[str(column.type) for column in scan.columns] for scan in job.scans]


@pytest.mark.parametrize(
    ("query", "types"),
    [
        ("SELECT r.a FROM t", ["ROW<a INT>"]),
        ("SELECT r.a FROM t WHERE r.b = 'x' AND k > 1", ["INT", "ROW<a INT, b STRING>"]),
        ("SELECT r.s.x FROM t", ["ROW<s ROW<x INT, y INT>>"]),
        ("SELECT r FROM t", [R]),
        ("SELECT r.a FROM t WHERE r IS NOT NULL", [R]),
        ("SELECT q.r.a FROM (SELECT r, o FROM t WHERE o.d > 1) AS q", ["ROW<a INT>", "ROW<d INT>"]),
        ("SELECT r.a + c FROM kept WHERE r.b = 'x'", ["INT", "ROW<a INT, b STRING>", "ROW<c INT>"]),
        ("SELECT CASE WHEN o.c > 1 THEN r.a ELSE o.d END FROM t", ["ROW<a INT>", "ROW<c INT, d INT>"]),
        ("SELECT SUM(r.a) FROM t GROUP BY r.b", ["ROW<a INT, b STRING>"]),
        ("SELECT r.a FROM strict", [R]),
        ("SELECT r.a FROM binary", ["ROW<a INT, b STRING>"]),
        ("SELECT r.a, o.c FROM keyed", ["ROW<a INT, b INT> NOT NULL", "ROW<c INT, d INT>"]),
        ("SELECT x.a FROM (SELECT DISTINCT r, k FROM t) AS q, UNNEST(ARRAY[q.r]) AS x", ["INT", R]),
    ],
)
def test_fields_that_are_needed(query: str, types: list[str]) -> None:
    assert scanned(query) == [types]


def test_readers_of_one_scan_get_the_fields_of_all() -> None:
    inserts = "INSERT INTO sink SELECT r.a FROM t", "INSERT INTO texts SELECT r.b FROM t WHERE o.c > 1"
    [types] = scanned(f"EXECUTE STATEMENT SET BEGIN {'; '.join(inserts)}; END")
    assert types == ["ROW<a INT, b STRING>", "ROW<c INT>"]
    [types] = scanned(
        "SELECT a FROM (SELECT k, r.a AS a FROM t) AS x JOIN (SELECT r.s.x AS z FROM t WHERE o.d > 1) AS y ON x.k = y.z"
    )
    assert types == ["INT", "ROW<a INT, s ROW<x INT, y INT>>", "ROW<d INT>"]


def test_each_scan_has_its_own_fields() -> None:
    assert scanned("SELECT r.a FROM t UNION ALL SELECT r.s.y FROM t") == [
        ["ROW<a INT>"],
        ["ROW<s ROW<x INT, y INT>>"],
    ]


def test_one_reader_that_takes_the_row_gets_all_of_it() -> None:
    inserts = "INSERT INTO sink SELECT r.a FROM t", "INSERT INTO sink SELECT k FROM t WHERE r IS NULL"
    [types] = scanned(f"EXECUTE STATEMENT SET BEGIN {'; '.join(inserts)}; END")
    assert types == ["INT", R]
