"""OVER in plans: which windows give final results, what is computed together, and what is refused."""

from __future__ import annotations

import pytest

from millstream.changelog import letters
from millstream.errors import Code, ScriptError
from millstream.plan.operators.node import Node, walk
from millstream.plan.operators.over import Over
from millstream.plan.program import compile_script
from millstream.source import SourceText

TABLES = """CREATE TABLE t (id BIGINT, g STRING, x INT, tags ARRAY<STRING>, ts TIMESTAMP(3), p AS PROCTIME(),
    WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');
CREATE TABLE u (id BIGINT, g STRING, x INT, ts TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED, WATERMARK FOR ts AS ts)
    WITH ('connector' = 'upsert-kafka', 'topic' = 'u', 'properties.bootstrap.servers' = 'x:9092',
    'key.format' = 'json', 'value.format' = 'json');"""


def compile_query(query: str, settings: dict[str, str] | None = None) -> Node:
    [job] = compile_script(SourceText("s", f"{TABLES}{query};"), {}, settings or {}).jobs
    return job.roots[0]


def overs(query: str) -> list[Over]:
    return [node for node in walk(compile_query(query)) if isinstance(node, Over)]


@pytest.mark.parametrize(
    ("window", "kinds"),
    [
        ("SUM(x) OVER (PARTITION BY g ORDER BY ts) FROM t", "I"),
        ("SUM(x) OVER (ORDER BY p ROWS 2 PRECEDING) FROM t", "I"),
        ("ROW_NUMBER() OVER (PARTITION BY g ORDER BY ts) FROM t", "I"),
        ("ROW_NUMBER() OVER (PARTITION BY g ORDER BY p) FROM t", "I"),
        ("LAG(x) OVER (ORDER BY ts) FROM t", "I"),
        ("SUM(x) OVER (PARTITION BY g ORDER BY ts DESC) FROM t", "I,UB,UA,D"),
        ("SUM(x) OVER (PARTITION BY g ORDER BY ts, id) FROM t", "I,UB,UA,D"),
        ("SUM(x) OVER (PARTITION BY g) FROM t", "I,UB,UA,D"),
        ("ROW_NUMBER() OVER (PARTITION BY g ORDER BY x) FROM t", "I,UB,UA,D"),
        ("SUM(x) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t", "I,UB,UA,D"),
        ("LEAD(x) OVER (ORDER BY ts) FROM t", "I,UB,UA,D"),
        ("NTILE(4) OVER (ORDER BY x) FROM t", "I,UB,UA,D"),
        ("AVG(x) OVER (PARTITION BY g ORDER BY ts ROWS 10 PRECEDING) FROM u", "I,UB,UA,D"),
    ],
)
def test_results_in_order_of_time_are_final(window: str, kinds: str) -> None:
    root = compile_query(f"SELECT id, {window}")
    assert letters(root.changelog) == kinds
    assert any(node.needs_time for node in walk(root)) == (kinds == "I" and "ORDER BY ts" in window)


@pytest.mark.parametrize(
    ("select", "labels"),
    [
        (
            "id, SUM(x) OVER w AS a, COUNT(*) OVER (w ROWS 3 PRECEDING) AS b FROM t WINDOW w AS (ORDER BY ts)",
            [
                """Over(keys=[], order=[$order1 by event time], \
calls=[SUM($order2) AS a, COUNT(*) ROWS BETWEEN 3 PRECEDING AND CURRENT ROW AS b])"""
            ],
        ),
        (
            "g, ts, x - LAG(x, 2, 0) OVER (PARTITION BY g ORDER BY ts) AS a, x FROM t",
            ["Over(keys=[g], order=[ts by event time], calls=[LAG(x, 2, $order3) AS $over0])"],
        ),
        (
            "x, LEAD(x, 0, NULL) OVER (PARTITION BY g ORDER BY ts) AS a FROM t",
            ["Over(keys=[$order1], order=[$order2], calls=[LEAD(x, 0) AS a])"],
        ),
        (
            "x, MAX(x) FILTER (WHERE g = 'a') OVER (ORDER BY p) AS a, COUNT(DISTINCT x) OVER (ORDER BY p) AS b FROM t",
            [
                "Over(keys=[], order=[arrival], calls=[MAX($order2) AS a, COUNT(DISTINCT x) AS b])",
            ],
        ),
        (
            "ts, g, x, SUM(x) OVER (ORDER BY x) AS a, SUM(x) OVER (PARTITION BY g ORDER BY ts) AS b FROM t",
            [
                "Over(keys=[], order=[x], calls=[SUM(x) AS a])",
                "Over(keys=[g], order=[ts by event time], calls=[SUM(x) AS b])",
            ],
        ),
        (
            "g, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY g) AS a FROM t GROUP BY g",
            ["Over(keys=[], order=[g], calls=[SUM(n) AS a])"],
        ),
    ],
)
def test_windows_of_a_select(select: str, labels: list[str]) -> None:
    assert [over.label for over in overs(f"SELECT {select}")] == labels


def test_the_columns_of_a_select_with_windows() -> None:
    query = "SELECT LAG(x) OVER w, *, ROW_NUMBER() OVER w + 1, id AS n FROM t WINDOW w AS (ORDER BY p)"
    columns = [(column.name, str(column.type)) for column in compile_query(query).columns]
    assert columns == [
        ("EXPR$0", "INT"),
        ("id", "BIGINT"),
        ("g", "STRING"),
        ("x", "INT"),
        ("tags", "ARRAY<STRING>"),
        ("ts", "TIMESTAMP(3)"),
        ("p", "TIMESTAMP_LTZ(3) NOT NULL"),
        ("EXPR$7", "BIGINT NOT NULL"),
        ("n", "BIGINT"),
    ]


def test_windows_below_a_limit_have_columns_of_their_own() -> None:
    query = "SELECT id, ROW_NUMBER() OVER (ORDER BY ts) AS n FROM t ORDER BY SUM(x) OVER (ORDER BY ts) LIMIT 3"
    root = compile_query(query)
    assert [column.name for column in root.columns] == ["id", "n"]
    [over] = overs(query)
    assert [call.name for call in over.calls] == ["n", "$order2"]


def test_only_what_is_read_is_computed_and_kept() -> None:
    [over] = overs(
        "SELECT g, b FROM (SELECT *, SUM(x) OVER w AS a, LAG(id) OVER w AS b FROM t WINDOW w AS (ORDER BY p))"
    )
    assert [call.name for call in over.calls] == ["b"]
    assert [column.name for column in over.columns] == ["id", "g", "b"]
    assert over.declare_state() == {
        "columns": ["id BIGINT", "g STRING"],
        "keys": [],
        "order": [],
        "time": "processing time",
        "calls": [{"function": "LAG", "argument": "`id` BIGINT", "parameters": "1"}],
    }


def test_a_window_that_nobody_reads_does_not_change_when_others_are_final() -> None:
    query = "SELECT id, a FROM (SELECT *, SUM(x) OVER w AS a, LEAD(id) OVER w AS b FROM t WINDOW w AS (ORDER BY ts))"
    [over] = overs(query)
    assert not over.needs_time
    assert letters(over.changelog) == "I,UB,UA,D"


@pytest.mark.parametrize(
    ("select", "primary", "code"),
    [
        ("UPPER(g) OVER (ORDER BY p) FROM t", "UPPER cannot be computed OVER a window", Code.UNSUPPORTED_EXPRESSION),
        ("SUM(x) OVER w FROM t", 'window "w" is not defined', Code.UNDEFINED_COLUMN),
        (
            "SUM(x) OVER w FROM t WINDOW w AS (v), v AS (ORDER BY p)",
            'window "v" is not defined',
            Code.UNDEFINED_COLUMN,
        ),
        (
            "SUM(x) OVER w FROM t WINDOW w AS (ORDER BY p), w AS (ORDER BY ts)",
            'WINDOW names "w" twice',
            Code.UNSUPPORTED_STATEMENT,
        ),
        ("LAG(x) OVER (PARTITION BY g) FROM t", "LAG() without ORDER BY", Code.UNSUPPORTED_EXPRESSION),
        ("LAG(x) OVER (ORDER BY p ROWS 1 PRECEDING) FROM t", "LAG does not take ROWS", Code.UNSUPPORTED_EXPRESSION),
        ("LAG(x) IGNORE NULLS OVER (ORDER BY p) FROM t", "LAG does not take IGNORE NULLS", Code.UNSUPPORTED_EXPRESSION),
        ("LAG(x IGNORE NULLS) OVER (ORDER BY p) FROM t", "LAG does not take IGNORE NULLS", Code.UNSUPPORTED_EXPRESSION),
        ("ROW_NUMBER(x) OVER (ORDER BY p) FROM t", "ROW_NUMBER does not take 1 argument", Code.TYPE_MISMATCH),
        ("NTILE(x) OVER (ORDER BY x) FROM t", "NTILE takes a literal", Code.TYPE_MISMATCH),
        ("LISTAGG(g, g) OVER (ORDER BY p) FROM t", "LISTAGG takes a literal", Code.TYPE_MISMATCH),
        ("SUM(DISTINCT x, id) OVER (ORDER BY p) FROM t", "SUM does not take 2 arguments", Code.TYPE_MISMATCH),
        ("LAG(x, -1) OVER (ORDER BY p) FROM t", "the number of rows is 0 or more", Code.TYPE_MISMATCH),
        ("LAG(x, 1, g) OVER (ORDER BY p) FROM t", "the default is STRING, and the value INT", Code.TYPE_MISMATCH),
        ("NTILE(0) OVER (ORDER BY x) FROM t", "the number of tiles is 1 or more", Code.TYPE_MISMATCH),
        (
            "RANK() FILTER (WHERE x > 1) OVER (ORDER BY x) FROM t",
            "RANK does not take FILTER",
            Code.UNSUPPORTED_EXPRESSION,
        ),
        ("SUM(g) OVER (ORDER BY p) FROM t", "SUM takes NUMBER here", Code.TYPE_MISMATCH),
        ("SUM(x) FILTER (WHERE x) OVER (ORDER BY p) FROM t", "FILTER needs a BOOLEAN", Code.TYPE_MISMATCH),
        ("SUM(nope) OVER (ORDER BY p) FROM t", 'column "nope" is not a column of "t"', Code.UNDEFINED_COLUMN),
        ("SUM(x) OVER (ORDER BY tags) FROM t", "rows cannot be ordered by a value of type ARRAY", Code.TYPE_MISMATCH),
        ("LEAD(x) OVER (ORDER BY p) FROM t", "LEAD by processing time is not", Code.UNSUPPORTED_EXPRESSION),
        (
            "SUM(x) OVER (ORDER BY p ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) FROM t",
            "FOLLOWING by processing time is not",
            Code.UNSUPPORTED_EXPRESSION,
        ),
        ("SUM(x) OVER (ORDER BY p DESC) FROM t", "ORDER BY … DESC, or by other columns", Code.UNSUPPORTED_EXPRESSION),
        ("SUM(x) OVER (ORDER BY PROCTIME()) FROM u", "OVER by processing time over rows", Code.UNSUPPORTED_EXPRESSION),
        (
            "SUM(x) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW) FROM u",
            "RANGE with an interval is only supported",
            Code.UNSUPPORTED_EXPRESSION,
        ),
        (
            "SUM(x) OVER (ORDER BY ts ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) FROM t",
            "a frame that ends before its row is not supported",
            Code.UNSUPPORTED_EXPRESSION,
        ),
        (
            "SUM(x) OVER (ORDER BY ts ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) FROM t",
            "a frame that begins behind its row is not supported",
            Code.UNSUPPORTED_EXPRESSION,
        ),
        (
            "SUM(x) OVER (ORDER BY ts RANGE 5 PRECEDING) FROM t",
            "RANGE with a number is not",
            Code.UNSUPPORTED_EXPRESSION,
        ),
        (
            "SUM(x) OVER (ORDER BY ts RANGE INTERVAL '1' MONTH PRECEDING) FROM t",
            "RANGE with months or years is not",
            Code.UNSUPPORTED_EXPRESSION,
        ),
        (
            "SUM(x) OVER (ORDER BY ts ROWS INTERVAL '1' DAY PRECEDING) FROM t",
            "ROWS with an interval is not",
            Code.UNSUPPORTED_EXPRESSION,
        ),
        (
            "SUM(x) OVER (ORDER BY ts ROWS x PRECEDING) FROM t",
            "a frame whose length is no number is not",
            Code.UNSUPPORTED_EXPRESSION,
        ),
        (
            "SUM(x) OVER (ORDER BY p), SUM(x) OVER (PARTITION BY g ORDER BY p) FROM t",
            "windows by processing time with different PARTITION BY",
            Code.UNSUPPORTED_EXPRESSION,
        ),
        ("SUM(LAG(x) OVER (ORDER BY p)) OVER (ORDER BY p) FROM t", "OVER in this place", Code.UNSUPPORTED_EXPRESSION),
        ("id FROM t WHERE SUM(x) OVER (ORDER BY p) > 3", "OVER in this place", Code.UNSUPPORTED_EXPRESSION),
        ("LAG(x), id FROM t", "LAG needs OVER (…) behind it", Code.UNSUPPORTED_EXPRESSION),
    ],
)
def test_what_is_refused(select: str, primary: str, code: Code) -> None:
    with pytest.raises(ScriptError) as raised:
        compile_query(f"SELECT {select}")
    [problem] = raised.value.diagnostics
    assert (problem.primary.startswith(primary), problem.code) == (True, code), problem.primary
    assert problem.span is not None


def test_all_problems_of_windows_are_reported_at_once() -> None:
    with pytest.raises(ScriptError) as raised:
        compile_query(
            "SELECT SUM(g) OVER (ORDER BY p), LAG(x, 1, g) OVER (ORDER BY p), NTILE(0) OVER (ORDER BY x) FROM t"
        )
    assert len(raised.value.diagnostics) == 3


@pytest.mark.parametrize("query", ["SELECT id FROM t", "SELECT DISTINCT id, g FROM t"])
def test_rows_in_order_of_arrival_are_not_given_again_to_live_on(query: str) -> None:
    windowed = f"SELECT id, SUM(id) OVER (ORDER BY PROCTIME()) AS s FROM ({query})"
    counted = f"SELECT id, COUNT(*) AS n FROM ({windowed}) GROUP BY id"
    root = compile_query(counted, {"table.exec.state.ttl": "1 h"})
    [over] = [node for node in walk(root) if isinstance(node, Over)]
    assert over.is_insert_only
    assert not over.repeats


@pytest.mark.parametrize(
    ("query", "ttl", "is_said"),
    [
        ("SELECT id, SUM(x) OVER (ORDER BY x) AS s FROM t", "", True),
        ("SELECT id, SUM(x) OVER (ORDER BY x) AS s FROM t", "1 h", False),
        ("SELECT id, SUM(x) OVER (ORDER BY p) AS s FROM t", "", False),
        ("SELECT id, SUM(x) OVER (ORDER BY ts) AS s FROM t", "", False),
        ("SELECT id, SUM(x) OVER (ORDER BY x) AS s FROM u", "", False),
    ],
)
def test_state_that_grows_is_announced(query: str, ttl: str, *, is_said: bool) -> None:
    sink = "CREATE TABLE sink (id BIGINT, s INT) WITH ('connector' = 'blackhole');"
    settings = {"table.exec.state.ttl": ttl} if ttl else {}
    program = compile_script(SourceText("s", f"{TABLES}{sink}INSERT INTO sink {query};"), {}, settings)
    said = [notice for notice in program.notices if "keeps every row that it has read" in notice]
    assert len(said) == is_said
    assert all("OVER that looks ahead, or is not ordered by a time attribute alone," in notice for notice in said)
