"""JOIN … FOR SYSTEM_TIME AS OF: what is looked up, and what is refused."""

from __future__ import annotations

import pytest

from millstream.changelog import INSERT_ONLY
from millstream.errors import Code, ScriptError
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.lookup import Lookup
from millstream.plan.operators.node import Node, walk
from millstream.plan.program import compile_script
from millstream.plan.resolver.sql_text import sql_text
from millstream.runtime.before_start import unbuilt_in
from millstream.source import SourceText

_KAFKA = "'properties.bootstrap.servers' = 'x:9092'"
_UPSERT = f"'connector' = 'upsert-kafka', {_KAFKA}, 'key.format' = 'json', 'value.format' = 'json'"
_TABLES = f"""
CREATE TABLE a (id INT, k BIGINT, at_time TIMESTAMP(3), pt AS PROCTIME()) WITH (
  'connector' = 'kafka', 'topic' = 'a', {_KAFKA}, 'format' = 'json');
CREATE TABLE u (id BIGINT, name STRING, city STRING, pt AS PROCTIME(), PRIMARY KEY (id) NOT ENFORCED) WITH (
  'topic' = 'u', {_UPSERT});
CREATE TABLE d (id INT, city STRING, up AS PARSE_URL(city, 'HOST'), PRIMARY KEY (id) NOT ENFORCED) WITH (
  'topic' = 'd', {_UPSERT});
CREATE TABLE late (id INT, city STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'topic' = 'd', 'scan.dead-letter.topic' = 'dead', {_UPSERT});
CREATE TABLE log (id INT, city STRING) WITH ('connector' = 'kafka', 'topic' = 'l', {_KAFKA}, 'format' = 'json');
CREATE TABLE once (id BIGINT, n BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'topic' = 'o', 'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'p', {_UPSERT});
CREATE TABLE watched (id INT) WITH (
  'connector' = 'filesystem', 'path' = '/tmp/x', 'format' = 'csv', 'source.monitor-interval' = '1 s');
CREATE VIEW recent AS SELECT k, pt AS seen FROM a WHERE id > 3;
"""
_OF_U = "JOIN u FOR SYSTEM_TIME AS OF a.pt AS c ON a.k = c.id"


def _root(query: str) -> Node:
    return compile_script(SourceText("s", f"{_TABLES}{query};"), {}, {}).jobs[0].roots[0]


def _lookups(query: str) -> list[Lookup]:
    return [node for node in walk(_root(query)) if isinstance(node, Lookup)]


def test_an_inner_lookup_leaves_its_other_conditions_above_it() -> None:
    query = f"SELECT a.id, c.name FROM a {_OF_U} AND c.city <> 'x' WHERE c.name = 'y'"
    [found] = _lookups(query)
    assert (found.is_outer, found.condition, found.input_keys, found.table_keys) == (False, None, ("k",), ("id0",))
    above = [sql_text(node.condition) for node in walk(_root(query)) if isinstance(node, Filter)]
    assert above == ["`name` = 'y'", "`city` <> 'x'"]


def test_a_left_lookup_keeps_its_conditions() -> None:
    [found] = _lookups(f"SELECT a.id, c.name FROM a LEFT {_OF_U} AND c.city <> 'x'")
    assert found.is_outer
    assert found.condition is not None
    assert sql_text(found.condition) == "`city` <> 'x'"
    assert found.column_types()["name"].nullable


def test_a_table_is_read_as_far_as_it_is_needed() -> None:
    [found] = _lookups(f"SELECT c.name FROM a {_OF_U}")
    assert [column.name for column in found.table.columns] == ["id0", "name"]
    assert [column.name for column in found.input.columns] == ["k"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT r.k FROM recent AS r JOIN u FOR SYSTEM_TIME AS OF r.seen AS c ON r.k = c.id",
        "SELECT a.k FROM a JOIN u FOR SYSTEM_TIME AS OF PROCTIME() AS c ON a.k = c.id",
        f"SELECT a.k FROM a JOIN log ON a.id = log.id {_OF_U}",
        f"SELECT a.k FROM a {_OF_U} JOIN log ON c.city = log.city",
    ],
    ids=["renamed in a view", "PROCTIME itself", "behind a join", "before a join"],
)
def test_times_that_rows_are_looked_up_as_of(query: str) -> None:
    [found] = _lookups(query)
    assert found.changelog == INSERT_ONLY


def test_a_lookup_makes_no_job_unbounded_and_is_among_its_tables() -> None:
    query = "SELECT v.k FROM (SELECT k, PROCTIME() AS pt FROM (VALUES (1), (2)) AS x (k)) AS v "
    job = compile_script(
        SourceText("s", f"{_TABLES}{query}JOIN u FOR SYSTEM_TIME AS OF v.pt AS c ON v.k = c.id;"), {}, {}
    ).jobs[0]
    assert job.is_bounded
    assert [used.table.name for used in job.tables] == ["u"]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT 1 FROM a JOIN u FOR SYSTEM_TIME AS OF a.at_time AS c ON a.k = c.id", "needs a time attribute"),
        ("SELECT 1 FROM a JOIN log FOR SYSTEM_TIME AS OF a.pt AS c ON a.id = c.id", 'looked up in "c"'),
        ("SELECT 1 FROM a JOIN watched FOR SYSTEM_TIME AS OF a.pt AS c ON a.id = c.id", 'looked up in "c"'),
        ("SELECT 1 FROM a JOIN late FOR SYSTEM_TIME AS OF a.pt AS c ON a.id = c.id", 'looked up in "c"'),
        ("SELECT 1 FROM u AS a JOIN u FOR SYSTEM_TIME AS OF a.pt AS c ON a.id = c.id", "updated or deleted"),
        ("SELECT 1 FROM a JOIN u FOR SYSTEM_TIME AS OF a.pt AS c ON a.k < c.id", "no condition"),
        ("SELECT 1 FROM a RIGHT JOIN u FOR SYSTEM_TIME AS OF a.pt AS c ON a.k = c.id", "a right join"),
        ("SELECT 1 FROM u FOR SYSTEM_TIME AS OF PROCTIME()", "FOR SYSTEM_TIME AS OF is not supported"),
        (f"SELECT 1 FROM a LEFT {_OF_U} AND PARSE_URL(c.city, 'HOST') = 'x'", "PARSE_URL in the condition of a lookup"),
    ],
)
def test_what_cannot_be_looked_up_is_refused_by_name(query: str, why: str) -> None:
    with pytest.raises(ScriptError) as caught:
        _root(query)
    assert [why in problem.primary for problem in caught.value.diagnostics] == [True]


def test_only_columns_that_are_read_must_be_computed_in_python() -> None:
    join = "FROM a JOIN d FOR SYSTEM_TIME AS OF a.pt AS c ON a.id = c.id"
    program = compile_script(SourceText("s", f"{_TABLES}SELECT c.city {join}; SELECT c.up {join};"), {}, {})
    [problem] = unbuilt_in(program)
    assert (problem.code, problem.primary) == (Code.NOT_BUILT_YET, 'column "up" cannot be computed for a lookup yet')


def test_exactly_once_does_not_count_rows_that_were_looked_up() -> None:
    aggregate = f"INSERT INTO once SELECT c.id, COUNT(*) FROM a {_OF_U} GROUP BY c.id;"
    program = compile_script(SourceText("s", _TABLES + aggregate), {}, {})
    assert [problem.code for problem in unbuilt_in(program)] == [Code.CONFLICTING_OPTIONS]
