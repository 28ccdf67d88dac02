"""Queries over sessions: rows come out of order and late, and a session gives its rows when it has ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import duckdb
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from millstream.changelog import RowKind
from tests.unit.changelogs.plan_bench import PlanBench
from tests.unit.changelogs.test_queries_over_changelogs import compile_query
from tests.unit.changelogs.window_cases import COLUMNS, DELAY, END, random_batches, source, truth

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from tests.unit.changelogs.plan_bench import Record

    Pair = tuple[Any, ...]

GAP: Final = timedelta(seconds=5)
W: Final = "window_start, window_end"
SESSIONS: Final = "TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' SECOND))"
OF_GROUPS: Final = "SESSION(ts, INTERVAL '5' SECOND)"
QUERIES: Final = (
    (
        "k",
        f"SELECT {W}, window_time, n, k, x, ts FROM {SESSIONS}",
        f"SELECT {W}, window_time, n, k, x, ts FROM w",
    ),
    (
        "k",
        f"""SELECT {W}, k, COUNT(*) AS c, SUM(x) AS s, COUNT(DISTINCT x) AS d, LAST_VALUE(n) AS l FROM TABLE(SESSION(
        DATA => TABLE t PARTITION BY (k), TIMECOL => DESCRIPTOR(ts), GAP => INTERVAL '5' SECOND)) GROUP BY {W}, k""",
        f"SELECT {W}, k, COUNT(*), SUM(x), COUNT(DISTINCT x), MAX(n) FROM w GROUP BY ALL",
    ),
    (
        "k",
        f"SELECT {W}, x, COUNT(*) AS c FROM {SESSIONS} GROUP BY {W}, x",
        f"SELECT {W}, x, COUNT(*) AS c FROM w GROUP BY {W}, x",
    ),
    (
        "",
        f"""SELECT {OF_GROUPS.replace("(", "_START(")} AS s, {OF_GROUPS.replace("(", "_END(")} AS e, COUNT(*)
        FROM t GROUP BY {OF_GROUPS}""",
        f"SELECT {W}, COUNT(*) FROM w GROUP BY {W}",
    ),
    (
        "k",
        f"SELECT {OF_GROUPS.replace('(', '_ROWTIME(')} AS r, k, MAX(x) FROM t GROUP BY k, {OF_GROUPS}",
        f"SELECT window_time, k, MAX(x) FROM w GROUP BY {W}, window_time, k",
    ),
    (
        "k",
        f"SELECT UPPER(k) AS u, COUNT(*) AS c FROM t GROUP BY UPPER(k), {OF_GROUPS}",
        f"SELECT UPPER(k), COUNT(*) FROM w GROUP BY {W}, k",
    ),
)


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


@dataclass
class Reference:
    """Rows by session, each batch from scratch: what has ended before a batch has closed, or came late."""

    key: str
    watermark: datetime | None = None
    late: int = 0
    waiting: list[Record] = field(default_factory=list)

    def take(self, batch: list[Record]) -> list[Pair]:
        """The rows of the sessions that close."""
        before = self.watermark
        rows = [row for row in batch if row["ts"] is not None]
        self.watermark = max(
            [*(row["ts"] - timedelta(seconds=DELAY) for row in rows), *filter(None, [before])], default=None
        )
        sessions = self._sessions([*self.waiting, *rows])
        late = [each for each in sessions if before is not None and self._last(each) <= before]
        self.late += sum(map(len, late))
        return self._close([each for each in sessions if each not in late])

    def end(self) -> list[Pair]:
        self.watermark = END
        return self._close(self._sessions(self.waiting))

    def _close(self, sessions: list[list[Record]]) -> list[Pair]:
        closed = [each for each in sessions if self.watermark is not None and self._last(each) <= self.watermark]
        self.waiting = [row for each in sessions if each not in closed for row in each]
        return [
            (*(row[name] for name in COLUMNS[:4]), each[0]["ts"], each[-1]["ts"] + GAP, self._last(each))
            for each in closed
            for row in each
        ]

    def _sessions(self, rows: list[Record]) -> list[list[Record]]:
        found: dict[Any, list[list[Record]]] = {}
        for row in sorted(rows, key=lambda row: row["ts"]):
            of_key = found.setdefault(row[self.key] if self.key else None, [])
            if of_key and row["ts"] <= of_key[-1][-1]["ts"] + GAP:
                of_key[-1].append(row)
            else:
                of_key.append([row])
        return [session for sessions in found.values() for session in sessions]

    @staticmethod
    def _last(session: list[Record]) -> datetime:
        last: datetime = session[-1]["ts"] + GAP - timedelta(milliseconds=1)
        return last


@given(query=st.sampled_from(QUERIES), chance=st.randoms(use_true_random=True))
def test_a_session_gives_its_rows_when_it_has_ended(
    database: duckdb.DuckDBPyConnection, query: tuple[str, str, str], chance: Random
) -> None:
    key, sql, oracle = query
    note(sql)
    bench = PlanBench(compile_query(f"{source('json')}{sql};"), database, colliding=query in QUERIES[::2])
    reference = Reference(key)

    def check(found: list[Record], closed: list[Pair]) -> None:
        assert Counter(tuple(row.values()) for row in found) == truth(oracle, closed, database)

    for batch in random_batches(chance):
        note(str(batch))
        found = bench.step([(RowKind.INSERT, row) for row in batch])
        assert all(kind is RowKind.INSERT for kind, _ in found)
        check([row for _, row in found], reference.take(batch))
    check([row for _, row in bench.end()], reference.end())
    assert bench.late == reference.late
    assert set(bench.stored_rows()) <= {0}
