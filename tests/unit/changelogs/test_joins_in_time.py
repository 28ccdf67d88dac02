"""Any join by event time, over rows out of order: at the end of all input, what was written is what DuckDB joins."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from millstream.changelog import RowKind
from millstream.plan.operators.interval_join import IntervalJoin
from millstream.plan.operators.node import walk
from tests.unit.changelogs.plan_bench import PlanBench
from tests.unit.changelogs.test_queries_over_changelogs import COMES, compile_query

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from tests.unit.changelogs.plan_bench import Record

TABLE: Final = pa.schema([("id", pa.int32()), ("g", pa.string()), ("x", pa.int32()), ("ts", pa.timestamp("us"))])
DELAY: Final = 3
SOURCE: Final = f"""CREATE TABLE t (id INT, g STRING, x INT, ts TIMESTAMP(3),
    WATERMARK FOR ts AS ts - INTERVAL '{DELAY}' SECOND) WITH ('connector' = 'kafka', 'topic' = 't',
    'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');"""
START: Final = datetime(2026, 1, 1)  # noqa: DTZ001
BOTH_ENDS: Final = (
    "a.ts BETWEEN b.ts - INTERVAL '4' SECOND AND b.ts + INTERVAL '1' SECOND",
    "b.ts >= a.ts AND b.ts < a.ts + INTERVAL '5' SECOND",
    "a.ts > b.ts + INTERVAL '-2' SECOND AND INTERVAL '1' SECOND + b.ts >= a.ts AND a.ts <= b.ts",
    "a.ts = b.ts",
    "a.ts - INTERVAL '2' SECOND = b.ts",
    "b.ts BETWEEN a.ts AND a.ts + INTERVAL '0.5' SECOND",
    "a.ts >= b.ts + INTERVAL '1' SECOND AND a.ts < b.ts",
)
MORE: Final = ("TRUE", "TRUE", "TRUE", "a.x <> b.x", "a.x > 0", "b.g = 'a'", "a.x <= b.x AND b.x < 3")
WORDS: Final = ("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
SIDE: Final = ("t", "t", "(SELECT id, g, x, ts FROM t WHERE x > 0)", "(SELECT id, g, x + 1 AS x, ts FROM t)")


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def random_join(chance: Random) -> str:
    on = [chance.choice(["a.id = b.id", "a.g = b.g", "a.id = b.id AND a.g = b.g", "TRUE"]), chance.choice(BOTH_ENDS)]
    on.append(chance.choice(MORE))
    chance.shuffle(on)
    left, right, word = chance.choice(SIDE), chance.choice(SIDE), chance.choice(WORDS)
    if chance.random() < 0.25:
        left = (
            f"(SELECT a.id, a.g, b.x, a.ts FROM {left} AS a JOIN t AS b ON a.id = b.id AND {chance.choice(BOTH_ENDS)})"
        )
    columns = "a.id AS i, a.x AS x, a.ts AS lt, b.id AS j, b.g AS g, b.ts AS rt"
    if word == "JOIN" and chance.random() < 0.3:
        return f"SELECT {columns} FROM {left} AS a, {right} AS b WHERE {' AND '.join(on)}"
    joined = f"SELECT {columns} FROM {left} AS a {word} {right} AS b ON {' AND '.join(on)}"
    return (
        f"SELECT i, COUNT(*) AS n, MIN(lt) AS least FROM ({joined}) AS j GROUP BY i"
        if chance.random() < 0.2
        else joined
    )


def random_rows(chance: Random) -> list[list[Record]]:
    """In batches; none is later than the watermark allows."""
    batches, at = [], 0.0
    for _ in range(chance.randint(2, 5)):
        batch = []
        for _ in range(chance.randint(0, 8)):
            at += chance.choice([0, 0, 0.5, 1, 1, 2])
            back = chance.choice([0, 0, 0.5, 1, DELAY - 0.001])
            batch.append(
                {
                    "id": chance.choice([1, 1, 2, None]),
                    "g": chance.choice(["a", "a", "b", None]),
                    "x": chance.choice([0, 1, 2, 3, None]),
                    "ts": START + timedelta(seconds=at - back) if chance.random() < 0.95 else None,
                }
            )
        batches.append(batch)
    return batches


@given(chance=st.randoms(use_true_random=True))
def test_what_is_joined_in_time_is_the_join(database: duckdb.DuckDBPyConnection, chance: Random) -> None:
    query, batches = random_join(chance), random_rows(chance)
    note(query)
    root = compile_query(f"{SOURCE}{query};")
    assert any(isinstance(node, IntervalJoin) for node in walk(root.operator))
    bench, found = PlanBench(root, database), Counter[tuple[Any, ...]]()
    for rows in batches:
        note(str(rows))
        for kind, row in bench.step([(RowKind.INSERT, row) for row in rows]):
            found[tuple(row.values())] += 1 if kind in COMES else -1
    for kind, row in bench.end():
        found[tuple(row.values())] += 1 if kind in COMES else -1
    assert bench.late == 0
    database.register("t", pa.Table.from_pylist([row for rows in batches for row in rows], schema=TABLE))
    assert +found == Counter(database.execute(query).fetchall())
