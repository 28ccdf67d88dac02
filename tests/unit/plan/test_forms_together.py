"""Joins, lookups, row numbers, UNNEST and sub-queries in one query."""

from __future__ import annotations

import pytest

from millstream.changelog import INSERT_ONLY
from millstream.errors import ScriptError
from millstream.plan.operators.lookup import Lookup
from millstream.plan.operators.node import Node, walk
from millstream.plan.operators.rank import Rank
from millstream.plan.program import compile_script
from millstream.source import SourceText

_KAFKA = "'properties.bootstrap.servers' = 'x:9092'"
_TABLES = f"""
CREATE TABLE a (id INT, k BIGINT, tags ARRAY<STRING>, m MAP<STRING, INT>, pt AS PROCTIME()) WITH (
  'connector' = 'kafka', 'topic' = 'a', {_KAFKA}, 'format' = 'json');
CREATE TABLE b (id INT, k BIGINT, v STRING) WITH ('connector' = 'kafka', 'topic' = 'b', {_KAFKA}, 'format' = 'json');
CREATE TABLE u (id BIGINT, name STRING, tags ARRAY<STRING>, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'u', {_KAFKA}, 'key.format' = 'json', 'value.format' = 'json');
"""
_FIRST = "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt) AS rn FROM a"


def _root(query: str, ttl: str = "0 ms") -> Node:
    return compile_script(SourceText("s", f"{_TABLES}{query};"), {}, {"table.exec.state.ttl": ttl}).jobs[0].roots[0]


def _names(query: str) -> list[str]:
    return [column.name for column in _root(query).columns]


def test_columns_of_a_full_join_with_using_are_in_the_order_of_the_left_table() -> None:
    assert _names("SELECT * FROM a FULL JOIN b USING (id, k)")[:3] == ["id", "k", "tags"]


def test_what_is_unnested_later_is_no_column_of_using() -> None:
    assert _names("SELECT x.id, b.k FROM a LEFT JOIN b USING (id), UNNEST(m) AS x (id, v)") == ["id", "k"]


def test_only_the_columns_of_using_stand_before_all_others() -> None:
    """Not what else is called like them; names that are taken get numbers."""
    query = "SELECT * FROM b JOIN b AS c USING (id) CROSS JOIN UNNEST(MAP['x', 1]) AS x (id, n)"
    assert _names(query) == ["id", "k", "v", "k0", "v0", "id0", "n"]


def test_a_row_number_is_bounded_below_its_elements() -> None:
    root = _root(
        f"SELECT r.id, x.v FROM ({_FIRST}) AS r CROSS JOIN UNNEST(r.tags) AS x (v) WHERE rn <= 2 AND x.v > 'a'"
    )
    assert [node.limit for node in walk(root) if isinstance(node, Rank)] == [2]


@pytest.mark.parametrize("rows", [f"SELECT * FROM ({_FIRST}) WHERE rn = 1", "SELECT * FROM a LIMIT 3"])
def test_first_rows_stay_and_may_be_looked_up(rows: str) -> None:
    root = _root(f"SELECT r.id FROM ({rows}) AS r JOIN u FOR SYSTEM_TIME AS OF r.pt AS c ON r.k = c.id")
    assert [node.changelog for node in walk(root) if isinstance(node, Lookup)] == [INSERT_ONLY]


def test_rows_below_a_lookup_are_not_given_again() -> None:
    """Else another row of the table might be retracted than was given."""
    both = "SELECT k, PROCTIME() AS pt FROM (SELECT k FROM a INTERSECT SELECT k FROM b)"
    looked_up = f"SELECT c.id FROM ({both}) AS r JOIN u FOR SYSTEM_TIME AS OF r.pt AS c ON r.k = c.id"
    root = _root(f"SELECT id, COUNT(*) FROM ({looked_up}) GROUP BY id", "1 h")
    assert [node.changelog for node in walk(root) if isinstance(node, Lookup)] == [INSERT_ONLY]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (
            "SELECT id FROM a WHERE id IN (SELECT DISTINCT id FROM b WHERE b.k = a.k LIMIT 1)",
            "LIMIT of groups and",
        ),
        ("SELECT id FROM a WHERE id IN (SELECT id FROM b WHERE b.k > a.k LIMIT 1)", "only equalities"),
        ("SELECT id FROM a WHERE id IN (SELECT id FROM b WHERE b.k > a.k GROUP BY id)", "only equalities"),
        ("SELECT id FROM a WHERE id IN (SELECT id FROM b WHERE b.k = a.k GROUP BY id LIMIT 1)", "LIMIT of groups and"),
        ("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k GROUP BY CUBE (id))", "a group of all rows"),
        ("SELECT id FROM a WHERE EXISTS (SELECT nope FROM b WHERE b.k = a.k GROUP BY id)", '"nope" is not'),
        ("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k LIMIT 1 OFFSET 2)", "OFFSET or LIMIT of"),
        ("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND a.id IN (SELECT id FROM u))", "IN with a"),
        ("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM UNNEST(a.tags) AS x (v) WHERE v = 'a')", "a column around"),
        ("SELECT id FROM a WHERE id IN (SELECT id FROM b WHERE b.k = a.k UNION SELECT 1)", "a column around"),
        ("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = nothing.k)", '"nothing" is not in'),
        ("SELECT c.id FROM a, u FOR SYSTEM_TIME AS OF a.pt AS c WHERE a.k = c.id", "no condition says by which"),
        ("SELECT DISTINCT ON (id) id, k FROM a", "DISTINCT ON is not supported"),
        (
            "SELECT x.v FROM a JOIN u FOR SYSTEM_TIME AS OF a.pt AS c ON a.k = c.id CROSS JOIN UNNEST(c.tags) AS x (v)",
            "UNNEST of a table that is looked up",
        ),
    ],
)
def test_what_is_refused_together_is_refused_by_name(query: str, why: str) -> None:
    with pytest.raises(ScriptError) as caught:
        _root(query)
    assert [why in problem.primary for problem in caught.value.diagnostics] == [True]
