"""What becomes of INTERSECT and EXCEPT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.changelog import INSERT_ONLY, RowKind
from millstream.errors import Code, ScriptError
from millstream.plan.operators.materialise import Materialise
from millstream.plan.operators.node import walk
from millstream.plan.operators.set_operation import Except, Intersect, SetOperation
from millstream.plan.operators.union import Union
from millstream.plan.program import JobPlan, compile_script
from millstream.source import SourceText
from tests.unit.plan.test_joins_and_unions import TABLES

if TYPE_CHECKING:
    from millstream.plan.operators.node import Node

INSERTS_AND_DELETES = frozenset({RowKind.INSERT, RowKind.DELETE})


def compile_job(query: str, **settings: str) -> JobPlan:
    [job] = compile_script(SourceText("s", f"{TABLES}{query};"), {}, settings).jobs
    return job


def operations(query: str) -> list[Node]:
    return [node for node in walk(compile_job(query).roots[0]) if isinstance(node, SetOperation | Union)]


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("SELECT b FROM a UNION ALL SELECT b FROM a INTERSECT SELECT name FROM u", [Union, Intersect]),
        ("SELECT b FROM a INTERSECT SELECT b FROM a EXCEPT SELECT name FROM u", [Except, Intersect]),
        ("SELECT b FROM a EXCEPT SELECT b FROM a INTERSECT ALL SELECT name FROM u", [Except, Intersect]),
        ("SELECT b FROM a EXCEPT SELECT b FROM a EXCEPT SELECT name FROM u", [Except, Except]),
        ("(SELECT b FROM a EXCEPT SELECT b FROM a) INTERSECT SELECT name FROM u", [Intersect, Except]),
    ],
)
def test_intersect_binds_tighter(query: str, kinds: list[type[Node]]) -> None:
    assert [type(node) for node in operations(query)] == kinds


def test_except_is_read_from_the_left() -> None:
    [outer, inner] = operations("SELECT b FROM a EXCEPT ALL SELECT b FROM a EXCEPT SELECT name FROM u")
    assert isinstance(outer, Except)
    assert isinstance(inner, Except)
    assert outer.left is inner
    assert (outer.is_distinct, inner.is_distinct) == (True, False)


@pytest.mark.parametrize(
    ("query", "changes", "keys"),
    [
        ("SELECT id, b FROM a INTERSECT SELECT * FROM u", INSERTS_AND_DELETES, (("id", "b"),)),
        ("SELECT b FROM a INTERSECT SELECT 'x'", INSERT_ONLY, (("b",),)),
        ("SELECT b FROM a INTERSECT ALL SELECT 'x'", INSERT_ONLY, ()),
        ("SELECT b FROM a EXCEPT SELECT 'x'", INSERTS_AND_DELETES, (("b",),)),
        ("SELECT b FROM a EXCEPT ALL SELECT name FROM u", INSERTS_AND_DELETES, ()),
    ],
)
def test_changes_and_keys(query: str, changes: frozenset[RowKind], keys: tuple[tuple[str, ...], ...]) -> None:
    root = compile_job(query).roots[0]
    assert (root.changelog, root.upsert_keys) == (changes, keys)


def test_columns_have_the_names_of_the_first_and_common_types() -> None:
    [found] = operations("SELECT id, b FROM a EXCEPT SELECT * FROM u")
    assert [(column.name, str(column.type)) for column in found.columns] == [("id", "BIGINT"), ("b", "STRING")]
    assert found.inputs[1].columns == found.columns


def test_another_key_of_the_sink_is_materialised() -> None:
    query = "SELECT id, name FROM u EXCEPT SELECT id, city FROM v"
    root = compile_job(f"INSERT INTO by_id {query}").roots[0]
    assert any(isinstance(node, Materialise) for node in walk(root))


def test_a_sink_of_inserts_takes_only_intersections_of_inserts() -> None:
    sink = "CREATE TABLE s (b STRING) WITH ('connector' = 'kafka', 'topic' = 's', 'format' = 'json',"
    sink += "'properties.bootstrap.servers' = 'x:9092');"
    compile_job(f"{sink} INSERT INTO s SELECT b FROM a INTERSECT ALL SELECT 'x'")
    with pytest.raises(ScriptError) as caught:
        compile_job(f"{sink} INSERT INTO s SELECT b FROM a EXCEPT SELECT 'x'")
    [problem] = caught.value.diagnostics
    assert problem.code is Code.SINK_REFUSES_CHANGES
    assert (problem.detail or "").startswith("EXCEPT at line")


def test_rows_are_given_again_where_state_above_would_expire() -> None:
    query = "SELECT b, COUNT(*) FROM (SELECT b FROM a INTERSECT SELECT name FROM u) AS t GROUP BY b"
    for settings, repeats in (({}, False), ({"table.exec.state.ttl": "1 h"}, True)):
        root = compile_job(query, **settings).roots[0]
        assert [node.repeats for node in walk(root) if isinstance(node, SetOperation)] == [repeats]


def test_a_ttl_does_not_change_the_state_above() -> None:
    query = "SELECT MAX(b) FROM (SELECT b FROM a INTERSECT SELECT 'x') AS t"
    plans = [compile_job(query, **settings) for settings in ({}, {"table.exec.state.ttl": "1 h"})]
    declared = [[node.operator.declare_state() for node in plan.physical.nodes] for plan in plans]
    assert declared[0] == declared[1]


def test_the_side_and_the_rows_are_part_of_the_state() -> None:
    queries = [f"SELECT b FROM a {word} SELECT name FROM u" for word in ("EXCEPT", "EXCEPT ALL")]
    queries.append("SELECT name FROM u EXCEPT SELECT b FROM a")
    declared = [operations(query)[0].declare_state() for query in queries]
    assert declared[0] not in declared[1:]
