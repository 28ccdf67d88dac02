"""Any join as of an event time: at the end of all input, each row has the version that DuckDB finds for its time."""

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
from tests.unit.changelogs.plan_bench import TABLE_OF, PlanBench
from tests.unit.changelogs.test_queries_over_changelogs import compile_query

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from tests.unit.changelogs.plan_bench import Changes, Record

DELAY: Final = 3
KAFKA: Final = "'topic' = 't', 'properties.bootstrap.servers' = 'x:9092'"
ROWS: Final = f"'connector' = 'kafka', {KAFKA}, 'format' = 'json'"
UPSERTS: Final = f"'connector' = 'upsert-kafka', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json'"
CHANGES: Final = f"'connector' = 'kafka', {KAFKA}, 'format' = 'debezium-json'"
LAST: Final = """CREATE VIEW v AS SELECT {columns} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k
    ORDER BY since DESC) AS rn FROM h) WHERE rn = 1;"""
COLUMNS: Final = "k INT, x INT, g STRING, since TIMESTAMP(3)"
WATERMARK: Final = "WATERMARK FOR since AS since - INTERVAL '1' SECOND"
VERSIONED: Final = {
    "upserts": f"CREATE TABLE v ({COLUMNS}, PRIMARY KEY (k) NOT ENFORCED, {WATERMARK}) WITH ({UPSERTS});",
    "changes": f"CREATE TABLE v ({COLUMNS}, PRIMARY KEY (k) NOT ENFORCED, {WATERMARK}) WITH ({CHANGES});",
    "a view": f"CREATE TABLE h ({COLUMNS}, {WATERMARK}) WITH ({ROWS});{LAST.format(columns='*')}",
    "a view of few": f"CREATE TABLE h ({COLUMNS}, {WATERMARK}) WITH ({ROWS});{LAST.format(columns='since, k, x, g')}",
}
ORDERS: Final = f"""CREATE TABLE o (id INT, k INT, g STRING, ts TIMESTAMP(3),
    WATERMARK FOR ts AS ts - INTERVAL '{DELAY}' SECOND) WITH ({ROWS});"""
START: Final = datetime(2026, 1, 1)  # noqa: DTZ001
MORE: Final = ("", "", " AND v.x > 1", " AND o.g = v.g", " AND o.id <> v.x", " AND o.g = 'a'")
ORDER_SCHEMA: Final = pa.schema([("id", pa.int32()), ("k", pa.int32()), ("g", pa.string()), ("ts", pa.timestamp("us"))])
VERSION_SCHEMA: Final = pa.schema(
    [("k", pa.int32()), ("x", pa.int32()), ("g", pa.string()), ("since", pa.timestamp("us")), ("deleted", pa.bool_())]
)


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


class Feed:
    """Random orders and versions; none is later than its watermark allows, and versions of a key are in order.

    Deletions have a time of their own, as that of a message; else the result would depend on when they are read.
    """

    def __init__(self, chance: Random, source: str) -> None:
        self.orders: list[Record] = []
        self.versions: list[Record] = []
        self._chance = chance
        self._source = source
        self._at = 0.0
        self._now: dict[int, Record] = {}

    def batch(self) -> Changes:
        return [change for _ in range(self._chance.randint(0, 9)) for change in self._make()]

    def _make(self) -> Changes:
        self._at += self._chance.choice([0.25, 0.5, 1, 1, 2])
        chance, key = self._chance, self._chance.choice([1, 1, 2, 3])
        if chance.random() < 0.5:
            back = chance.choice([0, 0, 0.5, 1, DELAY - 0.001])
            ts = START + timedelta(seconds=self._at - back)
            row = {
                "id": chance.randint(0, 3),
                "k": chance.choice([key, key, key, None]),
                "g": chance.choice("ab"),
                "ts": ts,
            }
            self.orders.append(row)
            return [(RowKind.INSERT, row | {TABLE_OF: "o"})]
        new = {
            "k": key,
            "x": chance.randint(0, 3),
            "g": chance.choice("ab"),
            "since": START + timedelta(seconds=self._at),
        }
        return [(kind, row | {TABLE_OF: "h" if "view" in self._source else "v"}) for kind, row in self._change(new)]

    def _change(self, new: Record) -> Changes:
        old = self._now.get(new["k"])
        if old is not None and "view" not in self._source and self._chance.random() < 0.3:
            del self._now[new["k"]]
            gone = (dict.fromkeys(old) if self._source == "upserts" else old) | {"k": old["k"], "since": new["since"]}
            self.versions.append(gone | {"deleted": True})
            return [(RowKind.DELETE, gone)]
        self._now[new["k"]] = new
        self.versions.append(new | {"deleted": False})
        if self._source == "changes":
            return [(RowKind.UPDATE_BEFORE, old), (RowKind.UPDATE_AFTER, new)] if old else [(RowKind.INSERT, new)]
        return [(RowKind.UPDATE_AFTER if self._source == "upserts" else RowKind.INSERT, new)]


@given(source=st.sampled_from(list(VERSIONED)), chance=st.randoms(use_true_random=True))
def test_each_row_has_the_version_of_its_time(database: duckdb.DuckDBPyConnection, source: str, chance: Random) -> None:
    word, more = chance.choice(["JOIN", "LEFT JOIN"]), chance.choice(MORE)
    selected = "SELECT o.id AS i, o.ts AS ts, v.x AS x, v.since AS since FROM o"
    query = f"{selected} {word} v FOR SYSTEM_TIME AS OF o.ts ON o.k = v.k{more}"
    note(query)
    bench = PlanBench(compile_query(f"{ORDERS}{VERSIONED[source]}{query};"), database)
    feed, found = Feed(chance, source), Counter[tuple[Any, ...]]()
    for _ in range(chance.randint(2, 5)):
        batch = feed.batch()
        note(str(batch))
        found.update(tuple(row.values()) for _, row in bench.step(batch))
    found.update(tuple(row.values()) for _, row in bench.end())
    assert bench.late == 0
    database.register("o", pa.Table.from_pylist(feed.orders, ORDER_SCHEMA))
    database.register("r", pa.Table.from_pylist(feed.versions, VERSION_SCHEMA))
    moments = "(SELECT DISTINCT ts, k FROM o) AS o"
    held = f"SELECT o.ts AS at, o.k AS of, r.* FROM {moments} ASOF JOIN r ON o.k = r.k AND o.ts >= r.since"
    versions = f"WITH v AS (SELECT * FROM ({held}) AS h WHERE NOT deleted)"
    oracle = f"{versions} {selected} {word} v ON o.k = v.of AND o.ts = v.at{more}"
    assert found == Counter(database.execute(oracle).fetchall())
