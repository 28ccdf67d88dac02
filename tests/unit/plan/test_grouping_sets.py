"""GROUPING SETS, ROLLUP and CUBE stand for the sets that DuckDB makes of them, and each set is told from the others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import Code, ScriptError
from millstream.plan.operators.aggregate import Aggregate
from millstream.plan.operators.expand import Expand
from millstream.plan.operators.project import Project
from millstream.plan.operators.scan import Scan
from millstream.plan.program import compile_script
from millstream.plan.resolver.grouping_sets import grouping_sets
from millstream.plan.resolver.sql_text import sql_text
from millstream.source import SourceText
from millstream.sql.dialect import Flink
from millstream.sql.types import BIGINT

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

TABLE = """
CREATE TABLE t (a BIGINT, b STRING, c INT NOT NULL) WITH (
  'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
"""


def wrap(parts: SearchStrategy[str], word: str = "", least: int = 1) -> SearchStrategy[str]:
    return st.lists(parts, min_size=least, max_size=3).map(lambda chosen: f"{word} ({', '.join(chosen)})".strip())


COLUMN = st.sampled_from("abc")
SET = COLUMN | wrap(COLUMN, least=0)
PART = COLUMN | wrap(COLUMN)
ELEMENT = SET | wrap(PART, "ROLLUP") | wrap(PART, "CUBE")
LIST = st.lists(ELEMENT | wrap(ELEMENT, "GROUPING SETS"), min_size=1, max_size=3).map(", ".join)


def compile_aggregate(query: str) -> Aggregate:
    root = compile_script(SourceText("s", f"{TABLE}{query};"), {}, {}).jobs[0].roots[0]
    [project] = root.inputs
    [aggregate] = project.inputs
    assert isinstance(aggregate, Aggregate)
    return aggregate


@given(LIST)
def test_sets_are_those_of_duckdb(written: str) -> None:
    columns = [name for name in "abc" if re.search(rf"\b{name}\b", written)]
    nulls = ", ".join([*(f"{name} IS NULL" for name in columns), "COUNT(*)"])
    query = f"SELECT {nulls} FROM (SELECT 1 AS a, 2 AS b, 3 AS c) GROUP BY {written}"
    rows = duckdb.connect().execute(query).fetchall()
    group = sqlglot.parse_one(f"SELECT 1 FROM t GROUP BY {written}", dialect=Flink).args["group"]
    span = SourceText("s", written).span(0, 1)
    names = [{part.name for part in parts} for parts in grouping_sets(group, span)]
    assert sorted(tuple(name not in kept for name in columns) for kept in names) == sorted(row[:-1] for row in rows)


def test_aggregated_column_keeps_its_values_where_its_key_is_null() -> None:
    aggregate = compile_aggregate("SELECT c, SUM(c), MAX(c) FROM t GROUP BY ROLLUP (c)")
    [expand] = aggregate.inputs
    assert isinstance(expand, Expand)
    assert {call.argument for call in aggregate.calls}.isdisjoint(expand.keys)
    assert {column.name: column.type.nullable for column in expand.columns} == {
        "c": True,
        "$argument1": False,
        "$set": False,
    }


def test_one_set_needs_no_expansion() -> None:
    for written in ("(a, b)", "GROUPING SETS ((a, b))", "DISTINCT GROUPING SETS ((a, b), (b, a))"):
        aggregate = compile_aggregate(f"SELECT GROUPING(a), GROUP_ID() FROM t GROUP BY {written}")
        assert (type(aggregate.inputs[0]), aggregate.keys) == (Scan, ("a", "b"))


@pytest.mark.parametrize(
    ("call", "values"),
    [
        ("GROUPING(a)", "CASE WHEN `$set` IN (0, 2) THEN 0 ELSE 1 END"),
        ("GROUPING_ID(b, a)", "CASE WHEN `$set` IN (0, 2) THEN 2 WHEN `$set` = 1 THEN 1 ELSE 3 END"),
        ("GROUP_ID()", "CASE WHEN `$set` IN (0, 1, 3) THEN 0 ELSE 1 END"),
    ],
)
def test_functions_of_the_set(call: str, values: str) -> None:
    query = f"{TABLE}SELECT {call} FROM t GROUP BY GROUPING SETS (a, b, a, ());"
    [project] = compile_script(SourceText("s", query), {}, {}).jobs[0].roots[0].inputs
    assert isinstance(project, Project)
    [item] = project.items
    assert sql_text(item.expression) == f"CAST({values} AS BIGINT)"
    assert item.type == BIGINT


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT GROUPING(b) FROM t GROUP BY ROLLUP (a)", Code.UNSUPPORTED_EXPRESSION),
        ("SELECT GROUPING(a) FILTER (WHERE a > 1) FROM t GROUP BY a", Code.UNSUPPORTED_EXPRESSION),
        ("SELECT GROUP_ID() FROM t", Code.UNSUPPORTED_EXPRESSION),
        ("SELECT a FROM t WHERE GROUPING(a) = 0 GROUP BY a", Code.UNSUPPORTED_EXPRESSION),
        ("SELECT SUM(GROUPING(a)) FROM t GROUP BY a", Code.UNSUPPORTED_EXPRESSION),
        ("SELECT a, c FROM t GROUP BY ROLLUP (a)", Code.UNDEFINED_COLUMN),
        ("SELECT a FROM t GROUP BY a WITH ROLLUP", Code.UNSUPPORTED_STATEMENT),
        ("SELECT a FROM t GROUP BY a GROUPING SETS ((a), ())", Code.UNSUPPORTED_STATEMENT),
        ("SELECT COUNT(*) FROM t GROUP BY ALL", Code.SYNTAX),
        ("SELECT a FROM t GROUP BY CUBE (a, b, c, a, b, c, a, b, c, a, b)", Code.UNSUPPORTED_STATEMENT),
    ],
)
def test_what_is_refused_is_refused_once(query: str, code: Code) -> None:
    with pytest.raises(ScriptError) as refused:
        compile_aggregate(query)
    assert [diagnostic.code for diagnostic in refused.value.diagnostics] == [code]
