"""Queries with OVER by event time: rows come out of order and some too late; DuckDB computes the others."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from millstream.changelog import RowKind
from millstream.plan.program import compile_script
from millstream.source import SourceText
from tests.unit.changelogs.plan_bench import PlanBench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

START = datetime(2026, 1, 1)  # noqa: DTZ001 # as in a TIMESTAMP column
DELAY = 5
TABLE = f"""CREATE TABLE t (id BIGINT, g STRING, x BIGINT, ts TIMESTAMP(3),
    WATERMARK FOR ts AS ts - INTERVAL '{DELAY}' SECOND) WITH ('connector' = 'datagen');"""
SCHEMA = pa.schema([("id", pa.int64()), ("g", pa.string()), ("x", pa.int64()), ("ts", pa.timestamp("ms"))])
WINDOWED = "SELECT id, g, x, ts, SUM(x) OVER (PARTITION BY g ORDER BY ts) AS s FROM t WHERE x <> 3"
QUERIES = (
    WINDOWED,
    """SELECT id, x - AVG(x) OVER w AS a, COUNT(*) OVER w AS n FROM t
    WINDOW w AS (ORDER BY ts RANGE BETWEEN INTERVAL '3' SECOND PRECEDING AND CURRENT ROW)""",
    "SELECT id, DENSE_RANK() OVER (PARTITION BY g ORDER BY ts) AS r FROM t WHERE id > 3",
    "SELECT id, RANK() OVER (ORDER BY ts) + SUM(id) FILTER (WHERE x > 1) OVER (PARTITION BY g ORDER BY ts) AS r FROM t",
    "SELECT g, COUNT(DISTINCT x) OVER (PARTITION BY g ORDER BY ts) AS n, MAX(id) OVER (ORDER BY ts) AS m FROM t",
    f"SELECT id, MIN(s) OVER (PARTITION BY x ORDER BY ts) AS m FROM ({WINDOWED})",
    f"SELECT x, SUM(s) AS a, COUNT(*) AS n FROM ({WINDOWED}) GROUP BY x",
    "SELECT id, ts FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY ts, id) AS n FROM t) WHERE n > 2",
)


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@given(query=st.sampled_from(QUERIES), chance=st.randoms(use_true_random=True), expires=st.booleans())
def test_rows_that_are_not_late(
    database: duckdb.DuckDBPyConnection, query: str, chance: Random, *, expires: bool
) -> None:
    note(query)
    [job] = compile_script(SourceText("s", f"{TABLE}{query};"), {}, {}).jobs
    bench = PlanBench(job.physical.roots[0], database, expires=expires)
    waits = any(node.operator.needs_time for node in job.physical.nodes)
    newest, late = START, 0
    highest: datetime | None = None
    watermark: datetime | None = None
    taken: list[dict[str, Any]] = []
    seen = Counter[tuple[Any, ...]]()
    for step in range(chance.randint(1, 6)):
        batch: list[dict[str, Any]] = []
        for _ in range(chance.choice([0, 1, 4, 20])):
            at = newest + timedelta(seconds=chance.choice([0, 0, 1, 2, 7, -1, -4, -9]))
            newest = max(newest, at)
            highest = at if highest is None else max(highest, at)
            id_ = len(taken) + late + len(batch)
            batch.append(
                {"id": id_, "g": chance.choice(["a", "b", None]), "x": chance.choice([None, 0, 1, 2, 3]), "ts": at}
            )
        note(str(batch))
        in_time = [row for row in batch if not waits or watermark is None or row["ts"] > watermark]
        late += len(batch) - len(in_time)
        taken += in_time
        watermark = None if highest is None else highest - timedelta(seconds=DELAY)
        count(seen, bench.step([(RowKind.INSERT, row) for row in batch], now=step))
    count(seen, bench.end(now=9))
    assert +seen == Counter(truth(query, taken, database))


def count(seen: Counter[tuple[Any, ...]], changes: list[tuple[RowKind, dict[str, Any]]]) -> None:
    for kind, row in changes:
        seen[tuple(row.values())] += 1 if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
        assert min(seen.values()) >= 0, "what went was not there"


def truth(query: str, rows: list[dict[str, Any]], database: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    database.register("t", pa.Table.from_pylist(rows, schema=SCHEMA))
    return database.execute(query.replace("AVG(x) OVER w", "TRUNC(AVG(x) OVER w)::BIGINT")).fetchall()
