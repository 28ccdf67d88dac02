"""Aggregates become columns below, calls of the operator, and expressions above."""

from __future__ import annotations

import pytest
from sqlglot import exp

from millstream.errors import Code, ScriptError
from millstream.plan.operators.aggregate import Aggregate
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import OutputColumn
from millstream.plan.operators.project import Project
from millstream.plan.operators.values import Values
from millstream.plan.resolver.aggregation import Grouping, build_aggregate, distinct_rows
from millstream.plan.resolver.expression_queries import Subqueries
from millstream.plan.resolver.sql_text import sql_text
from millstream.sql.type_text import type_of_text
from tests.unit.plan.expressions import read, scope

COLUMNS = {"k": "STRING", "i": "INT", "n": "DECIMAL(10, 2)", "d": "DOUBLE", "s": "STRING", "xs": "ARRAY<INT>"}


def rows() -> Values:
    columns = tuple(OutputColumn(name, type_of_text(text)) for name, text in COLUMNS.items())
    return Values((), columns, scope("SELECT", COLUMNS).statement)


def build_grouped(*items: str, having: str | None = None) -> Project:
    condition = exp.Having(this=read(having)) if having else None
    group = exp.Group(expressions=[read("k")])
    text = ", ".join(items)
    written = Grouping([read(item) for item in items], group, condition)
    found = build_aggregate(rows(), written, scope(text, COLUMNS), Subqueries(lambda *_: pytest.fail("there is none")))
    assert isinstance(found, Project)
    return found


def aggregate(project: Project) -> Aggregate:
    [node] = project.inputs
    if isinstance(node, Filter):
        [node] = node.inputs
    assert isinstance(node, Aggregate)
    return node


def calls(*items: str) -> list[str]:
    return [str(call) for call in aggregate(build_grouped(*items)).calls]


def test_calls_of_the_same_are_one() -> None:
    assert calls("SUM(i)", "SUM(i) + 1", "sum(t.i)") == ["SUM(i) AS $aggregate0"]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("COUNT(*)", ["COUNT(*) AS $aggregate0"]),
        ("COUNT(DISTINCT s)", ["COUNT(DISTINCT s) AS $aggregate0"]),
        ("MIN(n)", ["MIN(n) AS $aggregate0"]),
        ("LISTAGG(s)", ["LISTAGG(s, ',') AS $aggregate0"]),
        ("LISTAGG(s, '; ')", ["LISTAGG(s, '; ') AS $aggregate0"]),
        ("LISTAGG(DISTINCT s, '; ')", ["LISTAGG(DISTINCT s, '; ') AS $aggregate0"]),
        ("ARRAY_AGG(s IGNORE NULLS)", ["ARRAY_AGG(s) FILTER (WHERE $filter1) AS $aggregate0"]),
        ("ARRAY_AGG(s) FILTER (WHERE i > 1)", ["ARRAY_AGG(s) FILTER (WHERE $filter1) AS $aggregate0"]),
        ("FIRST_VALUE(s) FILTER (WHERE i > 1)", ["FIRST_VALUE($argument1) AS $aggregate0"]),
        (
            "COUNT(DISTINCT s) FILTER (WHERE i > 1) + COUNT(DISTINCT s)",
            ["COUNT(DISTINCT s) FILTER (WHERE $filter1) AS $aggregate0", "COUNT(DISTINCT s) AS $aggregate1"],
        ),
        ("AVG(DISTINCT i)", ["AVG(DISTINCT i) AS $aggregate0"]),
        ("VAR_POP(d)", ["VAR_POP(d) AS $aggregate0"]),
        ("VARIANCE(d)", ["VAR_SAMP(d) AS $aggregate0"]),
        ("STDDEV(d)", ["STDDEV_SAMP(d) AS $aggregate0"]),
        ("PERCENTILE(d, 0.5)", ["PERCENTILE(d, '0.5') AS $aggregate0"]),
    ],
)
def test_each_aggregate_is_planned(item: str, expected: list[str]) -> None:
    assert calls(item) == expected


@pytest.mark.parametrize(
    ("item", "type_"),
    [("AVG(i)", "INT"), ("AVG(n)", "DECIMAL(38, 6)"), ("AVG(d)", "DOUBLE"), ("STDDEV_SAMP(i)", "INT")],
)
def test_averages_have_the_types_of_flink(item: str, type_: str) -> None:
    assert str(build_grouped(item).items[0].type) == type_


def test_having_filters_groups() -> None:
    project = build_grouped("k", having="COUNT(*) > 1 AND k <> 'x'")
    [node] = project.inputs
    assert isinstance(node, Filter)
    assert sql_text(node.condition) == "`$aggregate0` > 1 AND `k` <> 'x'"


def test_distinct_groups_by_all_columns() -> None:
    node = rows()
    plain = Project(node, build_grouped("k").items, node.span)
    found = distinct_rows(plain, scope("SELECT DISTINCT k", COLUMNS))
    assert isinstance(found, Aggregate)
    assert (found.keys, found.calls) == (("k",), ())


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ("SUM(s)", Code.TYPE_MISMATCH),
        ("SUM(SUM(i))", Code.UNSUPPORTED_EXPRESSION),
        ("MAX(xs)", Code.TYPE_MISMATCH),
        ("LISTAGG(s, k)", Code.TYPE_MISMATCH),
        ("COUNT(*) FILTER (WHERE i)", Code.TYPE_MISMATCH),
        ("s", Code.UNDEFINED_COLUMN),
    ],
)
def test_what_cannot_be_aggregated_is_refused(item: str, code: Code) -> None:
    with pytest.raises(ScriptError) as caught:
        build_grouped(item)
    assert [problem.code for problem in caught.value.diagnostics] == [code]
