"""Rows that are equal in the order: which of them comes first is the same in all batches, and what DuckDB finds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tests.unit.changelogs.feeds import SOURCES, TABLE, Feed, random_moves
from tests.unit.changelogs.plan_bench import PlanBench
from tests.unit.changelogs.test_queries_over_changelogs import COMES, compile_query

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    Database = duckdb.DuckDBPyConnection

ARRIVED = "arrived"


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with duckdb.connect() as connection:
        yield connection


def follow(source: str, query: str, oracle: str, database: Database, chance: Random) -> None:
    """What the changes of random batches add up to is what the oracle finds after each."""
    note(f"{query} / {oracle}")
    bench = PlanBench(compile_query(f"{SOURCES[source]}{query};"), database)
    fed, seen = Feed(source, []), Counter[tuple[Any, ...]]()
    for moves in random_moves(chance):
        note(str(moves))
        for kind, row in bench.step(fed.batch(moves)):
            seen[tuple(row.values())] += 1 if kind in COMES else -1
            assert min(seen.values()) >= 0, "what went was not there"
        rows = [{**row, ARRIVED: number} for number, row in enumerate(fed.table)]
        schema = TABLE.append(pa.field(ARRIVED, pa.int64()))
        database.register("t", pa.Table.from_pylist(rows, schema=schema))
        assert +seen == Counter(database.execute(oracle).fetchall())


orders = st.sampled_from(["", "x NULLS FIRST", "x DESC NULLS LAST", "h NULLS LAST, x DESC NULLS FIRST"])
groups = st.sampled_from(["", "PARTITION BY g ", "PARTITION BY g, h "])
shapes = st.tuples(groups, st.integers(1, 3), st.sampled_from(["", ", rn"]))
"""The group, how many rows of it, and whether their numbers are selected."""


def numbered(columns: str, order: str, shape: tuple[str, int, str]) -> str:
    group, limit, number = shape
    rows = f"SELECT *, ROW_NUMBER() OVER ({group}ORDER BY {order}) AS rn FROM t"
    return f"SELECT {columns}{number} FROM ({rows}) WHERE rn <= {limit}"


@given(
    order=orders,
    shape=shapes,
    way=st.sampled_from(["", ", PROCTIME()", ", PROCTIME() DESC, id"]),
    chance=st.randoms(use_true_random=True),
)
def test_arrival_decides_between_inserts(
    database: Database, order: str, shape: tuple[str, int, str], way: str, chance: Random
) -> None:
    by = f"{order}{way}".removeprefix(", ") or "PROCTIME()"
    arrived = f"{order}, {ARRIVED}{' DESC' if 'DESC' in way else ''}".removeprefix(", ")
    follow("inserts", numbered("id, x", by, shape), numbered("id, x", arrived, shape), database, chance)


@given(order=orders, limit=st.integers(1, 4), skipped=st.integers(0, 2), chance=st.randoms(use_true_random=True))
def test_a_limit_goes_by_arrival(database: Database, order: str, limit: int, skipped: int, chance: Random) -> None:
    query, oracle = (
        f"SELECT id, x FROM t{f' ORDER BY {each}' if each else ''} LIMIT {limit} OFFSET {skipped}"
        for each in (order, f"{order}, {ARRIVED}".removeprefix(", "))
    )
    follow("inserts", query, oracle, database, chance)


@given(
    source=st.sampled_from([source for source in SOURCES if source != "inserts"]),
    order=orders.filter(bool),
    shape=shapes,
    chance=st.randoms(use_true_random=True),
)
def test_other_columns_decide_between_rows_that_are_updated(
    database: Database, source: str, order: str, shape: tuple[str, int, str], chance: Random
) -> None:
    complete = f"{order}, id NULLS FIRST, g NULLS FIRST, h NULLS FIRST, x NULLS FIRST"
    query, oracle = (numbered("id, g, h, x", each, shape) for each in (order, complete))
    follow(source, query, oracle, database, chance)
