"""IN and EXISTS where they do not just drop rows."""

from __future__ import annotations

import pytest

from millstream.errors import ScriptError
from millstream.join_kinds import JoinKind
from millstream.plan.operators.aggregate import Aggregate
from millstream.plan.operators.join import Join
from tests.unit.plan.test_joins_and_unions import compile_query, find


def type_of(condition: str) -> str:
    [column] = compile_query(f"SELECT {condition} AS c FROM u").columns
    return str(column.type)


def joins(query: str) -> list[tuple[JoinKind, int]]:
    """Their kinds, and how many keys each has; what is joined first comes last."""
    return [(join.kind, len(join.left_keys)) for join in find(query, Join)]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("EXISTS (SELECT 1 FROM v WHERE v.id = u.id)", "BOOLEAN NOT NULL"),
        ("id IN (SELECT id FROM v)", "BOOLEAN NOT NULL"),
        ("id NOT IN (SELECT id FROM v)", "BOOLEAN NOT NULL"),
        ("id IN (SELECT id FROM a)", "BOOLEAN"),
        ("name IN (SELECT 'x')", "BOOLEAN"),
        ("(id, name) IN (SELECT id, city FROM v)", "BOOLEAN"),
        ("id = ANY (SELECT id FROM v)", "BOOLEAN NOT NULL"),
        ("id <> ALL (SELECT id FROM a)", "BOOLEAN"),
    ],
)
def test_only_in_can_be_unknown(condition: str, expected: str) -> None:
    assert type_of(condition) == expected


BY_VALUE, BY_NULL, ALL_ROWS = (JoinKind.MARK, 1), (JoinKind.MARK, 1), (JoinKind.MARK, 0)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT id IN (SELECT id FROM v) FROM u", [BY_VALUE]),
        ("SELECT name IN (SELECT id FROM v) FROM (SELECT id AS name FROM a)", [BY_NULL, BY_VALUE]),
        ("SELECT id IN (SELECT id FROM a) FROM u", [ALL_ROWS, BY_VALUE]),
        ("SELECT name IN (SELECT b FROM a) FROM u", [ALL_ROWS, BY_NULL, BY_VALUE]),
        ("SELECT name IN (SELECT b FROM a WHERE a.id = u.id) FROM u", [(JoinKind.MARK, keys) for keys in (1, 2, 2)]),
        ("SELECT id FROM u WHERE name IN (SELECT b FROM a) OR id > 1", [BY_VALUE]),
        ("SELECT id FROM u WHERE id > 1 AND (id < 1 OR (id = 3 AND name IN (SELECT b FROM a)))", [BY_VALUE]),
        ("SELECT id FROM u WHERE NOT (name IN (SELECT b FROM a) OR id > 1)", [ALL_ROWS, BY_NULL, BY_VALUE]),
        ("SELECT CASE WHEN name IN (SELECT b FROM a) THEN 1 END FROM u", [BY_VALUE]),
        ("SELECT CASE TRUE WHEN name IN (SELECT b FROM a) THEN 1 END FROM u", [ALL_ROWS, BY_NULL, BY_VALUE]),
        ("SELECT 1 FROM u GROUP BY name HAVING name IN (SELECT b FROM a) OR COUNT(*) > 1", [BY_VALUE]),
        ("SELECT COUNT(*) FILTER (WHERE name IN (SELECT b FROM a)) FROM u", [BY_VALUE]),
    ],
)
def test_what_is_unknown_is_looked_for_where_it_matters(query: str, expected: list[tuple[JoinKind, int]]) -> None:
    assert joins(query) == expected


def test_not_in_excludes_what_is_found_and_what_may_be() -> None:
    anti = JoinKind.ANTI
    assert joins("SELECT name FROM u WHERE id NOT IN (SELECT id FROM v)") == [(anti, 1)]
    assert joins("SELECT name FROM u WHERE name NOT IN (SELECT city FROM v)") == [(anti, 0), (anti, 1), (anti, 1)]
    assert joins("SELECT name FROM u WHERE (id, name) NOT IN (SELECT id, city FROM v)") == [(anti, 1)]


def test_conditions_below_and_only_drop_rows() -> None:
    assert joins("SELECT id FROM u WHERE (id IN (SELECT id FROM v)) AND id > 1") == [(JoinKind.SEMI, 1)]
    assert joins("SELECT id FROM u WHERE id = ANY (SELECT id FROM v)") == [(JoinKind.SEMI, 1)]
    assert joins("SELECT id FROM u WHERE id <> ALL (SELECT id FROM v)") == [(JoinKind.ANTI, 1)]


def test_groups_are_looked_for_after_they_are_made() -> None:
    [join] = find("SELECT MAX(id) IN (SELECT id FROM v), COUNT(*) FROM u GROUP BY name HAVING COUNT(*) > 1", Join)[-1:]
    assert any(isinstance(node, Aggregate) for node in (join.left, *join.left.inputs, *join.left.inputs[0].inputs))


def test_the_mark_of_a_join_is_its_own_column() -> None:
    [join] = find("SELECT name, id IN (SELECT id FROM v) FROM u", Join)
    assert [column.name for column in join.output] == ["name", join.mark]
    assert join.mark not in {*join.left_columns, *join.right_columns}
    assert join.changelog == find("SELECT name FROM u WHERE id IN (SELECT id FROM v)", Join)[0].changelog


@pytest.mark.parametrize(
    ("query", "primary", "hint"),
    [
        ("SELECT id > ALL (SELECT id FROM v) FROM u", "a comparison with ALL", "MIN(y)"),
        ("SELECT id < ANY (SELECT id FROM v) FROM u", "a comparison with ANY", "MIN(y)"),
        ("SELECT id IN (SELECT id, city FROM v) FROM u", "IN compares 1 value", "as many columns"),
        ("SELECT name IN (SELECT id FROM v) FROM u", "cannot compare", "CAST"),
        ("SELECT name, id IN (SELECT id FROM v) FROM u GROUP BY name", "neither grouped", "GROUP BY"),
        ("SELECT 1 FROM u JOIN v ON u.id = v.id AND name IN (SELECT b FROM a)", "IN with a sub-query", "in WHERE"),
        ("SELECT 1 FROM u LEFT JOIN v ON EXISTS (SELECT 1 FROM a)", "EXISTS is not", "in WHERE"),
        ("SELECT id FROM u WHERE EXISTS (SELECT nothing FROM v WHERE v.id = u.id)", '"nothing"', ""),
        ("SELECT id FROM u WHERE EXISTS (SELECT w.* FROM v WHERE v.id = u.id)", '"w" is not in the FROM', ""),
    ],
)
def test_what_is_wrong_with_it_is_said(query: str, primary: str, hint: str) -> None:
    with pytest.raises(ScriptError) as raised:
        compile_query(query)
    [problem] = raised.value.diagnostics
    assert primary in problem.primary
    assert hint in (problem.hint or "")


def test_exists_may_select_anything_there_is() -> None:
    assert joins("SELECT id FROM u WHERE EXISTS (SELECT u.name, v.*, 1, * FROM v WHERE v.id = u.id)") == [
        (JoinKind.SEMI, 1)
    ]


def test_groups_belong_to_the_row_around_them() -> None:
    group = "WHERE a.id = u.id GROUP BY b HAVING COUNT(*) > 1"
    for query in (f"EXISTS (SELECT 1 FROM a {group})", f"name IN (SELECT b FROM a {group})"):
        [aggregate] = find(f"SELECT id FROM u WHERE {query}", Aggregate)
        assert len(aggregate.keys) == 2
    assert joins(f"SELECT id FROM u WHERE name IN (SELECT b FROM a {group})") == [(JoinKind.SEMI, 2)]


@pytest.mark.parametrize(
    "query", ["SELECT EXISTS (SELECT 1 FROM u)", "SELECT id FROM u WHERE EXISTS (SELECT 1 WHERE id > 3)"]
)
def test_both_sides_have_a_column_by_which_rows_are_counted(query: str) -> None:
    [join] = find(query, Join)
    assert all(side.columns for side in join.inputs)
