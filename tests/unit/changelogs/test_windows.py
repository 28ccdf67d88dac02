"""Queries over windows: rows come out of order and late, and each window gives its result once, when it has ended.

The oracle is DuckDB over each row once for each window that was still open when it came.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from millstream.changelog import RowKind
from tests.unit.changelogs.plan_bench import PlanBench
from tests.unit.changelogs.test_queries_over_changelogs import compile_query
from tests.unit.changelogs.window_cases import (
    END,
    EPOCH,
    KAFKA,
    KINDS,
    Reference,
    random_batches,
    source,
    truth,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from tests.unit.changelogs.plan_bench import Changes, Record
    from tests.unit.changelogs.window_cases import Database, Kind, Pair


@dataclass(frozen=True)
class Query:
    """In the text, `{t}` is the window function, of which DuckDB has the table `w`."""

    text: str
    oracle: str | None = None

    def over(self, kind: Kind) -> tuple[str, str]:
        """For Millstream and for DuckDB."""
        return self.text.format(t=f"TABLE({kind.call})", W=W), (self.oracle or self.text).format(t="w", W=W)


W: Final = "window_start, window_end"
QUERIES: Final = (
    Query("SELECT {W}, COUNT(*) AS c, SUM(x) AS s, MIN(x) AS l, MAX(x) AS g FROM {t} GROUP BY {W}"),
    Query(
        "SELECT window_end, k, COUNT(DISTINCT x) AS d, AVG(x) AS a FROM {t} GROUP BY {W}, k",
        "SELECT window_end, k, COUNT(DISTINCT x), trunc(AVG(x)) FROM w GROUP BY window_start, window_end, k",
    ),
    Query(
        """SELECT k, {W}, window_time, COUNT(*) FILTER (WHERE x > 1) AS c, COUNT(DISTINCT x) FILTER (WHERE x > 0) AS d,
        SUM(DISTINCT x) AS e FROM {t} WHERE x IS NULL OR x < 3 GROUP BY {W}, window_time, k"""
    ),
    Query("SELECT {W}, k, COUNT(*) AS c FROM {t} GROUP BY {W}, k HAVING COUNT(*) > 1"),
    Query("SELECT {W}, k, x, COUNT(*) AS c, GROUPING(k) AS g FROM {t} GROUP BY {W}, GROUPING SETS ((k), (x), ())"),
    Query("SELECT {W}, k, x, MAX(n) AS c FROM {t} GROUP BY {W}, ROLLUP (k, x)"),
    Query("SELECT DISTINCT {W}, k FROM {t}"),
)
OF_INSERTS: Final = Query(
    "SELECT {W}, FIRST_VALUE(x) AS f, LAST_VALUE(n) AS l, LISTAGG(k) AS a FROM {t} GROUP BY {W}",
    """SELECT {W}, FIRST(x ORDER BY n) FILTER (x IS NOT NULL), MAX(n), STRING_AGG(k, ',' ORDER BY n)
    FROM w GROUP BY {W}""",
)
CHAINED: Final = Query(
    """SELECT {W}, k, COUNT(*) AS c, SUM(m) AS s FROM TABLE(TUMBLE((
    SELECT k, window_time, MAX(x) AS m FROM {t} GROUP BY {W}, window_time, k
    ), DESCRIPTOR(window_time), INTERVAL '1' MINUTE)) GROUP BY {W}, k""",
    """SELECT date_trunc('minute', window_time) AS s, s + INTERVAL 1 MINUTE, k, COUNT(*), SUM(m)
    FROM (SELECT k, window_time, MAX(x) AS m FROM w GROUP BY ALL) GROUP BY ALL""",
)
RANKED: Final = "SELECT *, ROW_NUMBER() OVER (PARTITION BY {W}, k ORDER BY"
TOP: Final = (
    Query(
        f"SELECT {{W}}, n, k, x, r FROM ({RANKED} x DESC, n) AS r FROM {{t}}) WHERE r <= 2",
        f"SELECT {{W}}, n, k, x, r FROM ({RANKED} x DESC NULLS LAST, n) AS r FROM w) WHERE r <= 2",
    ),
    Query(
        f"SELECT k, n, ts, window_time FROM ({RANKED} ts DESC) AS r FROM {{t}}) WHERE r = 1",
        f"SELECT k, n, ts, window_time FROM ({RANKED} ts DESC, n DESC) AS r FROM w) WHERE r = 1",
    ),
    Query(
        f"SELECT {{W}}, n FROM ({RANKED} ts) AS r FROM {{t}}) WHERE r < 4",
        f"SELECT {{W}}, n FROM ({RANKED} ts, n) AS r FROM w) WHERE r < 4",
    ),
    Query(
        """SELECT {W}, k, c, r FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {W} ORDER BY c, k) AS r FROM (
        SELECT {W}, k, COUNT(*) AS c FROM {t} GROUP BY {W}, k)) WHERE r BETWEEN 2 AND 3""",
        """SELECT {W}, k, COUNT(*) AS c, ROW_NUMBER() OVER (PARTITION BY {W} ORDER BY c, k NULLS FIRST) AS r FROM w
        GROUP BY {W}, k QUALIFY r BETWEEN 2 AND 3""",
    ),
)
SAME: Final = "l.window_start = r.window_start AND l.window_end = r.window_end"
JOINS: Final = (
    *(
        Query(
            f"""SELECT l.window_end AS a, r.window_start AS b, l.n AS i, r.n AS j FROM
            (SELECT * FROM {{t}} WHERE x > 0) AS l {join} (SELECT * FROM {{t}} WHERE x IS NULL OR x < 2) AS r
            ON {SAME} AND l.k = r.k {condition}"""
        )
        for join in ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
        for condition in ("", "AND l.n < r.n")
    ),
    *(
        Query(
            f"""SELECT l.window_start, l.n FROM {{t}} AS l
            WHERE {word} (SELECT 1 FROM {{t}} AS r WHERE {SAME} AND l.x = r.n {condition})"""
        )
        for word in ("EXISTS", "NOT EXISTS")
        for condition in ("", "AND l.k <> r.k")
    ),
    Query(
        f"""SELECT l.window_start, l.n FROM {{t}} AS l
        WHERE l.x = 0 OR EXISTS (SELECT 1 FROM {{t}} AS r WHERE {SAME} AND l.x = r.n)"""
    ),
    Query(
        f"""SELECT l.window_time, l.k, l.c, r.m FROM
        (SELECT {{W}}, window_time, k, COUNT(*) AS c FROM {{t}} GROUP BY {{W}}, window_time, k) AS l
        JOIN (SELECT {{W}}, MAX(x) AS m FROM {{t}} GROUP BY {{W}}) AS r ON {SAME} AND l.c > r.m"""
    ),
)
UNIX: Final = 62_135_596_800_000
"""1970, in milliseconds since the year 1."""
BY_CLOCK: Final = (
    """SELECT window_start, window_end, k, COUNT(*) AS c FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(seen),
    INTERVAL '10' SECOND)) GROUP BY window_start, window_end, k""",
    """SELECT TUMBLE_START(seen, INTERVAL '10' SECOND) AS s, TUMBLE_END(seen, INTERVAL '10' SECOND) AS e, k, COUNT(*)
    FROM t GROUP BY TUMBLE(seen, INTERVAL '10' SECOND), k""",
)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with duckdb.connect() as connection:
        yield connection


@dataclass
class Run:
    """A query in Millstream, and the model of what it must give."""

    bench: PlanBench
    reference: Reference
    oracle: str
    database: Database

    @classmethod
    def of(cls, texts: tuple[str, str], kind: Kind, database: Database, format_: str = "json") -> Run:
        """Half of the windows have colliding hashes."""
        sql, oracle = texts
        note(sql)
        root = compile_query(f"{source(format_)}{sql};")
        bench = PlanBench(root, database, colliding=kind in KINDS[::2])
        return cls(bench, Reference(kind), oracle, database)

    def check(self, batches: list[Changes]) -> None:
        """Each window is given by the batch that closes it, and nothing is left in the end."""
        for batch in batches:
            note(str(batch))
            self.reference.take(batch)
            self._compare(self.bench.step(batch))
        self.reference.watermark = END
        self._compare(self.bench.end())
        assert set(self.bench.stored_rows()) <= {0}

    def _compare(self, found: Changes) -> None:
        assert all(change is RowKind.INSERT for change, _ in found)
        closed = self.reference.close()
        assert Counter(tuple(row.values()) for _, row in found) == truth(self.oracle, closed, self.database)


def inserts(chance: Random) -> list[Changes]:
    return [[(RowKind.INSERT, row) for row in batch] for batch in random_batches(chance)]


KIND: Final = st.sampled_from(KINDS)
CHANCE: Final = st.randoms(use_true_random=True)


@given(kind=KIND, query=st.sampled_from([*QUERIES, OF_INSERTS]), chance=CHANCE)
def test_each_window_gives_its_result_once(database: Database, kind: Kind, query: Query, chance: Random) -> None:
    run = Run.of(query.over(kind), kind, database)
    run.check(inserts(chance))
    if "WHERE" not in query.text:
        sets = {"SETS": 3, "ROLLUP": 3}
        assert run.bench.late == run.reference.late * next((sets[word] for word in sets if word in query.text), 1)


@given(kind=KIND, query=st.sampled_from(QUERIES), chance=CHANCE)
def test_changes_reach_the_windows_that_are_open(database: Database, kind: Kind, query: Query, chance: Random) -> None:
    there: list[Record] = []
    batches: list[Changes] = []
    for rows in random_batches(chance):
        batch: Changes = []
        for row in rows:
            if there and chance.random() < 0.4:
                batch.append((RowKind.DELETE, there.pop(chance.randrange(len(there)))))
            batch.append((RowKind.INSERT, row))
            there.append(row)
        batches.append(batch)
    Run.of(query.over(kind), kind, database, "debezium-json").check(batches)


@given(kind=st.sampled_from([kind for kind in KINDS if kind.group]), chance=CHANCE)
def test_a_window_in_group_by_is_the_same(database: Database, kind: Kind, chance: Random) -> None:
    assert kind.group is not None
    start, end, time = (kind.group.replace("(", f"_{part}(", 1) for part in ("START", "END", "ROWTIME"))
    group = chance.choice([f"{kind.group}, k", f"GROUPING SETS (({kind.group}, k), (k, {kind.group}))"])
    sql = f"SELECT k, {start} AS s, {time} AS r, {end}, SUM(x) FROM t AS u GROUP BY {group} HAVING {end} > {start}"
    times = "2" if "SETS" in group else "1"
    oracle = f"SELECT k, window_start, window_time, window_end, SUM(x) FROM w, range({times}) AS i GROUP BY {W}, ALL"
    oracle = oracle.replace(f"{W}, ALL", f"{W}, window_time, k, i")
    Run.of((sql, oracle), kind, database).check(inserts(chance))


@given(kind=KIND, chance=CHANCE)
def test_windows_over_windows_close_with_them(database: Database, kind: Kind, chance: Random) -> None:
    run = Run.of(CHAINED.over(kind), kind, database)
    closed: list[Pair] = []
    found: list[Record] = []
    for batch in inserts(chance):
        run.reference.take(batch)
        closed += run.reference.close()
        new = [row for _, row in run.bench.step(batch)]
        before = run.reference.before
        assert all(before is None or row["window_end"] > before for row in new)
        found += new
    found += [row for _, row in run.bench.end()]
    closed += list(run.reference.open.elements())
    assert Counter(tuple(row.values()) for row in found) == truth(run.oracle, closed, database)
    assert set(run.bench.stored_rows()) <= {0}


@given(kind=KIND, query=st.sampled_from([*TOP, *JOINS]), chance=CHANCE)
def test_joins_and_first_rows_wait_for_the_end_of_the_window(
    database: Database, kind: Kind, query: Query, chance: Random
) -> None:
    run = Run.of(query.over(kind), kind, database)
    run.check(inserts(chance))
    if query in TOP:
        assert run.bench.late == run.reference.late


@given(sql=st.sampled_from(BY_CLOCK), chance=CHANCE)
def test_windows_of_processing_time_end_by_the_clock(database: Database, sql: str, chance: Random) -> None:
    database.execute("CREATE OR REPLACE MACRO PROCTIME() AS make_timestamptz(getvariable('now') * 1000)")
    table = f"CREATE TABLE t (n INT, k STRING, seen AS PROCTIME()) WITH ({KAFKA}'json');"
    bench = PlanBench(compile_query(f"{table}{sql};"), database)
    now, waiting = 0, Counter[Any]()
    first = (EPOCH - EPOCH.min) // timedelta(milliseconds=1) - UNIX
    for _ in range(chance.randint(2, 10)):
        now += chance.choice([0, 1, 400, 9_999, 10_000, 35_000])
        database.execute(f"SET VARIABLE now = {now + first}")
        rows = [{"n": 0, "k": chance.choice(["a", None])} for _ in range(chance.choice([0, 1, 4]))]
        found = bench.step([(RowKind.INSERT, row) for row in rows], now=now + first)
        closed = {group: number for group, number in waiting.items() if group[1] * 1000 <= now}
        expected = Counter(
            (EPOCH + timedelta(seconds=start), EPOCH + timedelta(seconds=end), key, number)
            for (start, end, key), number in closed.items()
        )
        assert Counter(tuple(row.values()) for _, row in found) == expected
        waiting = Counter({group: number for group, number in waiting.items() if group not in closed})
        start = now // 10_000 * 10
        waiting.update((start, start + 10, row["k"]) for row in rows)
    assert waiting or not sum(bench.stored_rows())
