"""Sub-queries that stand for a value."""

from __future__ import annotations

import pytest

from millstream.errors import ScriptError
from millstream.join_kinds import JoinKind
from millstream.plan.operators.aggregate import Aggregate
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.join import Join
from millstream.plan.operators.node import walk
from millstream.plan.operators.project import Project
from millstream.plan.operators.rank import Rank
from millstream.plan.resolver.sql_text import sql_text
from tests.unit.plan.test_joins_and_unions import compile_query, find


def columns(query: str) -> dict[str, str]:
    return {column.name: str(column.type) for column in compile_query(query).columns}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id, (SELECT MAX(id) FROM v) FROM u", {"id": "BIGINT NOT NULL", "EXPR$1": "BIGINT"}),
        ("SELECT (SELECT COUNT(*) FROM v WHERE v.id = u.id) AS n FROM u", {"n": "BIGINT"}),
        ("SELECT (SELECT COUNT(*) FROM v HAVING MAX(id) > 1) AS n FROM u", {"n": "BIGINT"}),
        ("SELECT (SELECT id FROM v WHERE v.id = u.id) AS other FROM u", {"other": "BIGINT"}),
        ("SELECT (SELECT MAX(id) FROM v) AS highest", {"highest": "BIGINT"}),
        ("SELECT * FROM u WHERE id > (SELECT AVG(id) FROM v)", {"id": "BIGINT NOT NULL", "name": "STRING"}),
        ("SELECT * FROM u ORDER BY (SELECT MAX(id) FROM v) LIMIT 1", {"id": "BIGINT NOT NULL", "name": "STRING"}),
        ("SELECT (SELECT MAX(id) FROM v) AS m FROM u ORDER BY m LIMIT 1", {"m": "BIGINT"}),
    ],
)
def test_a_value_is_null_where_its_sub_query_has_no_row(query: str, expected: dict[str, str]) -> None:
    assert columns(query) == expected


def test_rows_are_grouped_by_what_is_compared_around_them() -> None:
    query = "SELECT id, (SELECT MAX(c) FROM a WHERE a.id = u.id AND u.name = b AND a.c > 1) FROM u"
    [aggregate], [join] = find(query, Aggregate), find(query, Join)
    assert (join.kind, len(join.left_keys), len(aggregate.keys)) == (JoinKind.LEFT, 2, 2)
    assert {*join.right_keys} == {*aggregate.keys}
    [inputs] = aggregate.inputs
    assert isinstance(inputs, Project)
    assert {str(item.type) for item in inputs.items if item.name in aggregate.keys} == {"BIGINT", "STRING"}


@pytest.mark.parametrize(
    ("query", "joins"),
    [
        ("SELECT id - (SELECT MIN(id) FROM v), (SELECT MIN(id) FROM v) FROM u WHERE id > (SELECT MIN(id) FROM v)", 1),
        ("SELECT id - (SELECT MIN(id) FROM v), (SELECT MAX(id) FROM v) FROM u", 2),
        ("SELECT id FROM u WHERE id = (SELECT MAX(id) FROM v WHERE city = (SELECT MAX(b) FROM a))", 2),
        ("SELECT (SELECT MAX(id) FROM v), SUM(id * (SELECT MAX(id) FROM v)) FROM u", 2),
        ("SELECT (SELECT MAX(id) FROM v), COUNT(*) FROM u GROUP BY (SELECT MAX(id) FROM v)", 1),
    ],
)
def test_sub_queries_of_the_same_text_are_one_if_they_have_the_same_place(query: str, joins: int) -> None:
    assert len(find(query, Join)) == joins


def test_a_sub_query_beside_groups_is_joined_to_them() -> None:
    query = "SELECT name, COUNT(*) FROM u GROUP BY name HAVING COUNT(*) > (SELECT COUNT(*) FROM v WHERE city = u.name)"
    [join] = find(query, Join)
    assert isinstance(join.left, Aggregate)
    assert join.left_keys == ("name",)
    [having] = find(query, Filter)
    assert "COALESCE" not in sql_text(having.condition)


def test_what_filters_the_rows_does_so_before_they_are_joined() -> None:
    [join] = find("SELECT id FROM u WHERE id > (SELECT MAX(id) FROM v) AND name = 'x'", Join)
    assert isinstance(join.left, Filter) or any(isinstance(node, Filter) for node in walk(join.left))


@pytest.mark.parametrize(
    ("sub_query", "is_one_row"),
    [
        ("SELECT city FROM v WHERE v.id = u.id", True),
        ("SELECT city FROM v WHERE v.id = u.id AND v.city < u.name", True),
        ("SELECT city FROM v WHERE id = 5", True),
        ("SELECT city FROM (SELECT id AS i, city FROM v) WHERE i = 5", True),
        ("SELECT b FROM a LIMIT 1", True),
        ("SELECT b FROM a ORDER BY c DESC LIMIT 1", True),
        ("SELECT b FROM a WHERE a.id = u.id ORDER BY c DESC LIMIT 1", True),
        ("SELECT b FROM a WHERE a.id = u.id ORDER BY c DESC LIMIT 2", False),
        ("VALUES 'x'", True),
        ("SELECT 'x'", True),
        ("SELECT city FROM v WHERE v.city = u.name", False),
        ("SELECT city FROM v WHERE id > 5", False),
        ("SELECT city FROM v WHERE id = RAND_INTEGER(5)", False),
        ("SELECT city FROM v WHERE v.id = CAST(u.id AS DOUBLE)", False),
        ("SELECT b FROM a WHERE a.id = u.id", False),
        ("SELECT b FROM a LIMIT 2", False),
        ("SELECT MAX(b) FROM a GROUP BY c", False),
        ("SELECT city FROM v UNION SELECT 'x'", False),
        ("VALUES 'x', 'y'", False),
    ],
)
def test_a_sub_query_must_be_known_to_have_one_row(sub_query: str, is_one_row: bool) -> None:  # noqa: FBT001
    query = f"SELECT ({sub_query}) FROM u"
    if is_one_row:
        assert find(query, Join)[0].kind is JoinKind.LEFT
        return
    with pytest.raises(ScriptError, match="several rows") as raised:
        compile_query(query)
    assert "MAX" in (raised.value.diagnostics[0].hint or "")


@pytest.mark.parametrize(
    ("query", "primary", "hint"),
    [
        (
            "SELECT (SELECT id, city FROM v WHERE v.id = u.id) FROM u",
            "has one column, and this one has 2",
            "one column",
        ),
        ("SELECT (SELECT MAX(id) FROM v WHERE v.id < u.id) FROM u", "only equalities", "GROUP BY"),
        ("SELECT (SELECT MAX(c) FROM a WHERE a.c = CAST(u.id AS DOUBLE)) FROM u", "only equalities", "same type"),
        ("SELECT (SELECT MAX(v.id) + u.id FROM v) FROM u", "named in its WHERE only", "Compare it"),
        ("SELECT (SELECT MAX(v.id) FROM v WHERE city = u.nam) FROM u", 'column "nam"', "name"),
        (
            "SELECT name, (SELECT MAX(v.id) FROM v WHERE v.id = u.id) FROM u GROUP BY name",
            "neither grouped",
            "GROUP BY",
        ),
        ("SELECT id FROM u JOIN v USING (id) WHERE (SELECT COUNT(*) FROM a) = 'x'", "cannot compare", "CAST"),
        ("SELECT 1 FROM u JOIN v ON u.id = (SELECT MAX(id) FROM a)", "a sub-query in an expression", "in WHERE"),
        ("SELECT (SELECT MAX(id) - (SELECT MIN(id) FROM u) FROM v) FROM u", "beside the aggregate", "query around"),
        ("SELECT (SELECT DISTINCT city FROM v WHERE v.id = u.id LIMIT 1) FROM u", "distinct rows", "Number the rows"),
        ("SELECT (SELECT city FROM v WHERE city < name LIMIT 1) FROM u", "only equalities", "same type"),
        ("SELECT (SELECT MAX(city) FROM v WHERE v.id = u.id GROUP BY id) FROM u", "several rows", "MAX"),
        (
            "SELECT 1 FROM u WHERE id = (SELECT MAX(id) FROM v WHERE city = (SELECT MAX(b) FROM a WHERE a.id = u.id))",
            "two queries around",
            "right around",
        ),
    ],
)
def test_what_is_no_value_yet_is_refused_with_a_way_on(query: str, primary: str, hint: str) -> None:
    with pytest.raises(ScriptError) as raised:
        compile_query(query)
    [problem] = raised.value.diagnostics
    assert primary in problem.primary
    assert hint in (problem.hint or "")


def test_all_problems_of_several_sub_queries_are_reported() -> None:
    query = "SELECT (SELECT MAX(nope) FROM v), nothing FROM u WHERE (SELECT COUNT(*) FROM missing) > 1 AND gone = 1"
    with pytest.raises(ScriptError) as raised:
        compile_query(query)
    words = [problem.primary for problem in raised.value.diagnostics]
    assert [any(word in text for text in words) for word in ("missing", "gone")] == [True, True]
    with pytest.raises(ScriptError) as raised:
        compile_query(query.partition(" WHERE")[0])
    assert len(raised.value.diagnostics) == 2


def test_limit_is_about_the_rows_that_belong_to_one_around_them() -> None:
    [rank] = find("SELECT id, (SELECT b FROM a WHERE a.id = u.id ORDER BY a.c DESC LIMIT 1) FROM u", Rank)
    assert (len(rank.keys), [column.descending for column in rank.order], rank.limit) == (1, [True], 1)
    [rank] = find("SELECT id FROM u WHERE name IN (SELECT b FROM a WHERE a.id = u.id LIMIT 3)", Rank)
    assert (len(rank.keys), rank.order, rank.limit) == (1, (), 3)


def test_a_sub_query_may_stand_in_another_one() -> None:
    deepest = "(SELECT MAX(b) FROM a WHERE a.b = v.city)"
    for query in (
        f"SELECT id FROM u WHERE EXISTS (SELECT 1 FROM v WHERE v.id = u.id AND u.name < {deepest})",
        f"SELECT id FROM u WHERE EXISTS (SELECT 1 FROM v WHERE v.id = u.id AND v.city < {deepest})",
        f"SELECT (SELECT {deepest} FROM v WHERE v.id = u.id) FROM u",
        f"SELECT (SELECT MAX({deepest}) FROM v WHERE v.id = u.id) FROM u",
    ):
        assert len(find(query, Join)) == 2
