"""A table that is shown is in the order of the query, as far as its columns are selected."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from millstream.changelog import RowKind
from millstream.errors import ScriptError
from millstream.plan.operators.node import SortColumn
from millstream.plan.program import compile_script
from millstream.runtime.result_order import sort_rows
from millstream.runtime.results import ResultTable, objects
from millstream.source import SourceText

NAN = float("nan")


@pytest.mark.parametrize(
    ("order", "numbers"),
    [
        ([SortColumn("x")], [None, 1.0, 2.0, 2.0, NAN]),
        ([SortColumn("x", descending=True, nulls_last=True)], [NAN, 2.0, 2.0, 1.0, None]),
        ([SortColumn("x", nulls_last=True)], [1.0, 2.0, 2.0, NAN, None]),
        ([], [2.0, None, NAN, 1.0, 2.0]),
    ],
)
def test_nulls_and_nan_have_their_places(order: list[SortColumn], numbers: list[float | None]) -> None:
    rows = [("a", 2.0), ("b", None), ("c", NAN), ("d", 1.0), ("e", 2.0)]
    assert repr([row[1] for row in sort_rows(rows, ["n", "x"], order)]) == repr(numbers)


def test_the_next_column_decides_between_equal_values() -> None:
    rows = [("b", 1), ("a", 2), ("c", 1), ("a", 1)]
    order = [SortColumn("x", descending=True), SortColumn("n")]
    assert sort_rows(rows, ["n", "x"], order) == [("a", 2), ("a", 1), ("b", 1), ("c", 1)]


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("SELECT a AS n, b FROM t ORDER BY b DESC, n LIMIT 3", ["b DESC", "n"]),
        ("SELECT a, b FROM t ORDER BY a LIMIT 3 OFFSET 2", ["a"]),
        ("SELECT a FROM t ORDER BY a, b LIMIT 3", ["a"]),
        ("SELECT a FROM t ORDER BY b, a LIMIT 3", []),
        ("SELECT COUNT(*) AS n FROM (SELECT a FROM t ORDER BY a LIMIT 3)", []),
        ("SELECT a FROM t ORDER BY a DESC", ["a DESC"]),
        ("SELECT b, COUNT(*) AS n FROM t GROUP BY b ORDER BY n DESC, 1", ["n DESC", "b"]),
        ("SELECT a FROM t UNION ALL SELECT b FROM t ORDER BY a", ["a"]),
        ("SELECT a FROM t ORDER BY b, MOD(a, 2) DESC, a", ["$order1", "$order2 DESC", "a"]),
        ("SELECT a FROM t ORDER BY (SELECT MAX(b) FROM t AS u WHERE u.a = t.a)", ["$order1"]),
    ],
)
def test_the_order_of_a_result(query: str, order: list[str]) -> None:
    table = "CREATE TABLE t (a INT, b INT) WITH ('connector' = 'datagen', 'number-of-rows' = '9');"
    [job] = compile_script(SourceText("s", f"{table} {query};"), {}, {}).jobs
    [root] = job.roots
    assert [str(column) for column in root.sorted_by] == order


def test_what_rows_are_only_ordered_by_is_not_shown() -> None:
    lines: list[str] = []
    table = ResultTable(None, lines.extend, objects, [SortColumn("$order1", descending=True)], {"$order1"})
    table.take(pa.table({"a": [1, 2, 2], "$order1": [5, 7, 9]}), None)
    table.take(pa.table({"a": [3, 2], "$order1": [8, 7]}), [RowKind.INSERT, RowKind.DELETE])
    table.end()
    assert [json.loads(line)["row"] for line in lines] == [{"a": 2}, {"a": 3}, {"a": 1}]


@pytest.mark.parametrize(
    ("script", "why", "hint"),
    [
        ("SELECT a FROM endless ORDER BY a", "ORDER BY is not supported yet", "Add LIMIT"),
        ("INSERT INTO sink SELECT a FROM t ORDER BY a", "ORDER BY is not supported yet", "Add LIMIT"),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a)", "ORDER BY is not supported yet", "Add LIMIT"),
        ("CREATE VIEW v AS SELECT a FROM t ORDER BY a; SELECT * FROM v", "ORDER BY is not supported", "Add LIMIT"),
        ("SELECT a FROM t ORDER BY a OFFSET 3 ROWS", "OFFSET is not supported yet", "LIMIT 10"),
        ("SELECT a FROM t ORDER BY ARRAY[a]", "rows cannot be ordered by a value of type ARRAY", "an element"),
        ("SELECT DISTINCT a FROM t ORDER BY b", "takes columns of the result only", "Select what"),
        ("SET 'sql-client.execution.result-mode' = 'changelog'; SELECT a FROM t ORDER BY a", "changelog", "'table'"),
        ("SET 'sql-client.execution.result-mode' = 'tableau'; SELECT a FROM t ORDER BY a", "tableau", "'table'"),
    ],
)
def test_rows_without_a_last_one_have_no_order(script: str, why: str, hint: str) -> None:
    tables = """CREATE TABLE t (a INT, b INT) WITH ('connector' = 'datagen', 'number-of-rows' = '9');
    CREATE TABLE endless (a INT) WITH ('connector' = 'datagen');
    CREATE TABLE sink (a INT) WITH ('connector' = 'blackhole');"""
    with pytest.raises(ScriptError) as raised:
        compile_script(SourceText("s", f"{tables} {script};"), {}, {})
    problem = raised.value.diagnostics[0]
    assert why in problem.primary
    assert hint in (problem.hint or "")
