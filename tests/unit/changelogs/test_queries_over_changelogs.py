"""Any small query over any changelog: after each batch, what was written is the query over the table as it is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.formats.arrow_types import arrow_schema
from millstream.kernels.fold import fold_updates
from millstream.plan.operators.materialise import Materialise
from millstream.plan.operators.node import walk
from millstream.plan.program import compile_script
from millstream.source import SourceText
from millstream.state.state_table import TimeToLive
from tests.unit.changelogs.feeds import SOURCES, TABLE, Feed, random_moves
from tests.unit.changelogs.plan_bench import PlanBench
from tests.unit.changelogs.random_queries import RandomQuery, random_query

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from millstream.plan.physical.nodes import PhysicalNode
    from tests.unit.changelogs.plan_bench import Changes, Record

    Database = duckdb.DuckDBPyConnection

LONG = 1000
COMES = (RowKind.INSERT, RowKind.UPDATE_AFTER)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with duckdb.connect() as connection:
        yield connection


def compile_query(script: str, *, expires: bool = False) -> PhysicalNode:
    ttl = {"table.exec.state.ttl": f"{LONG} ms"} if expires else {}
    [job] = compile_script(SourceText("s", script), {}, ttl).jobs
    [root] = job.physical.roots
    return root


def truth(query: RandomQuery, table: list[Record], database: Database) -> list[tuple[Any, ...]]:
    database.register("t", pa.Table.from_pylist(table, schema=TABLE))
    return database.execute(query.oracle).fetchall()


@given(source=st.sampled_from(list(SOURCES)), chance=st.randoms(use_true_random=True), expires=st.booleans())
def test_all_changes_make_the_table(database: Database, source: str, chance: Random, *, expires: bool) -> None:
    """The reader takes each change literally: what goes must be there."""
    query = random_query(chance)
    note(query.sql)
    root = compile_query(f"{SOURCES[source]}{query.sql};", expires=expires)
    bench = PlanBench(root, database, expires=expires)
    fed, seen = Feed(source, []), Counter[tuple[Any, ...]]()
    for now, moves in enumerate(random_moves(chance)):
        note(str(moves))
        for kind, row in bench.step(fed.batch(moves), TimeToLive(now, LONG) if expires else None):
            seen[tuple(row.values())] += 1 if kind in COMES else -1
            assert min(seen.values()) >= 0, "what went was not there"
        assert +seen == Counter(truth(query, fed.table, database))


@given(source=st.sampled_from(list(SOURCES)), chance=st.randoms(use_true_random=True))
def test_upserts_make_the_table(database: Database, source: str, chance: Random) -> None:
    """Where several rows of the query claim a key of the sink, one of them is there."""
    query = random_query(chance)
    key = random_key(query, source, chance)
    forced = chance.choice(["", "", "SET 'table.exec.sink.upsert-materialize' = 'FORCE';"])
    root = compile_query(f"{forced}{SOURCES[source]}{sink_for(query, source, key)}INSERT INTO sink {query.sql};")
    note(f"{query.sql} by {key}")
    bench = PlanBench(root, database)
    fed, written = Feed(source, []), dict[tuple[Any, ...], tuple[Any, ...]]()
    names = [name for name, _ in query.columns]
    for moves in random_moves(chance):
        note(str(moves))
        write(fold(bench.step(fed.batch(moves)), root, key), key, written)
        found = truth(query, fed.table, database)
        assert written.keys() == {tuple(row[names.index(name)] for name in key) for row in found}
        assert set(written.values()) <= set(found)


def write(changes: Changes, key: Sequence[str], written: dict[tuple[Any, ...], tuple[Any, ...]]) -> None:
    """As a reader of the topic sees it; a tombstone is only written for a row that is there."""
    for kind, row in changes:
        place = tuple(row[name] for name in key)
        if kind in COMES:
            written[place] = tuple(row.values())
        else:
            assert written.pop(place, None) is not None, f"a tombstone for {place}, which is not there"


JOINS_BY_KEY = (
    "SELECT a.id AS i, b.id AS j, a.x AS v, b.g AS w FROM t AS a JOIN t AS b ON a.id = b.id",
    "SELECT a.id AS i, a.x AS k, b.g AS w FROM t AS a JOIN t AS b ON a.x = b.id",
    """SELECT a.id AS i, b.g AS l, c.h AS k, b.n AS w FROM t AS a
    JOIN (SELECT h, g, COUNT(*) AS n FROM t WHERE h >= 0 GROUP BY h, g) AS b ON a.id = b.h AND a.g = b.g
    JOIN (SELECT h, MAX(x) AS x FROM t GROUP BY h) AS c ON b.h = c.h""",
    "SELECT a.id AS i, a.x AS v, b.g AS w FROM t AS a LEFT JOIN t AS b ON a.id = b.id AND b.x > 0",
    "SELECT b.id AS i, a.g AS v, b.g AS w FROM t AS a RIGHT JOIN t AS b ON a.id = b.id AND a.h <> b.x",
    "SELECT a.id AS i, b.id AS k, b.g AS w FROM t AS a LEFT JOIN t AS b ON a.id = b.h",
    "SELECT a.id AS i, a.g AS v FROM t AS a WHERE NOT EXISTS (SELECT 1 FROM t AS b WHERE b.h = a.id AND b.x > a.x)",
    "SELECT a.id AS i, a.g AS v FROM t AS a WHERE id IN (SELECT h FROM t)",
    "SELECT a.id AS i, a.id IN (SELECT h FROM t WHERE x > 0) OR a.x > 1 AS v FROM t AS a",
    "SELECT a.id AS i, (SELECT MAX(b.x) FROM t AS b WHERE b.h = a.id) AS v FROM t AS a",
    "SELECT a.id AS i, (SELECT b.g FROM t AS b WHERE b.id = a.id AND b.x > 0) AS v FROM t AS a",
    "SELECT a.id AS i, (SELECT COUNT(*) FROM t WHERE x > 0) + a.x AS v FROM t AS a",
)


@given(
    source=st.sampled_from(["upserts", "keyed changes"]),
    text=st.sampled_from(JOINS_BY_KEY),
    chance=st.randoms(use_true_random=True),
)
def test_a_join_is_written_by_each_of_its_keys(database: Database, source: str, text: str, chance: Random) -> None:
    query = RandomQuery(text, text, ())
    [names, keys] = _columns_and_keys(f"{SOURCES[source]}{text};")
    key = chance.choice(keys)
    root = compile_query(f"{SOURCES[source]}{sink_for(query, source, key)}INSERT INTO sink {text};")
    note(f"{text} by {key}")
    assert not any(isinstance(node, Materialise) for node in walk(root.operator))
    bench = PlanBench(root, database)
    fed, written = Feed(source, []), dict[tuple[Any, ...], tuple[Any, ...]]()
    for moves in random_moves(chance):
        note(str(moves))
        write(fold(bench.step(fed.batch(moves)), root, key), key, written)
        found = truth(query, fed.table, database)
        assert len({tuple(row[names.index(name)] for name in key) for row in found}) == len(found)
        assert set(written.values()) == set(found)


def _columns_and_keys(script: str) -> tuple[list[str], Sequence[Sequence[str]]]:
    operator = compile_query(script).operator
    return [column.name for column in operator.columns], operator.upsert_keys


def random_key(query: RandomQuery, source: str, chance: Random) -> list[str]:
    """Mostly one of the query: with another one, the sink keeps all rows."""
    own = compile_query(f"{SOURCES[source]}{query.sql};").operator.upsert_keys
    if own and chance.random() < 0.8 and (key := chance.choice(own)):
        return list(key)
    names = [name for name, _ in query.columns]
    return chance.sample(names, chance.randint(1, len(names)))


def sink_for(query: RandomQuery, source: str, key: Sequence[str]) -> str:
    types = {column.name: column.type for column in compile_query(f"{SOURCES[source]}{query.sql};").operator.columns}
    columns = ", ".join(f"{name} {type_}".removesuffix(" NOT NULL") for name, type_ in types.items())
    return (
        f"CREATE TABLE sink ({columns}, PRIMARY KEY ({', '.join(key)}) NOT ENFORCED) WITH ("
        "'connector' = 'upsert-kafka', 'topic' = 's', 'properties.bootstrap.servers' = 'x:9092',"
        "'key.format' = 'json', 'value.format' = 'json');"
    )


def fold(changes: Changes, root: PhysicalNode, key: Sequence[str]) -> Changes:
    """As the sink folds them."""
    schema = arrow_schema((column.name, column.type) for column in root.operator.columns)
    rows = [row | {KIND: int(kind)} for kind, row in changes]
    batches = pa.Table.from_pylist(rows, schema=schema.append(pa.field(KIND, pa.int8()))).to_batches()
    kept = [row for batch in fold_updates(iter(batches), key) for row in batch.to_pylist()]
    return [(RowKind(row.pop(KIND)), row) for row in kept]


@pytest.mark.parametrize("source", SOURCES)
def test_a_side_of_a_join_without_columns(database: Database, source: str) -> None:
    """Each row as often as there are rows beside it, of which nothing is selected."""
    sql = "SELECT a.id AS n FROM t AS a LEFT JOIN t AS b ON TRUE"
    bench = PlanBench(compile_query(f"{SOURCES[source]}{sql};"), database)
    fed, seen = Feed(source, []), Counter[tuple[Any, ...]]()
    for keys in ([0, 1, 2], [3], [4, 1]):
        moves = [("put", key, {"g": "a", "h": key, "x": key}, True) for key in keys]
        for kind, row in bench.step(fed.batch(moves)):
            seen[tuple(row.values())] += 1 if kind in COMES else -1
        database.register("t", pa.Table.from_pylist(fed.table, schema=TABLE))
        assert +seen == Counter(database.execute(sql).fetchall())
