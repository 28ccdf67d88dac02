"""ROW_NUMBER with a highest number, and ORDER BY with LIMIT: what they become, and what is refused."""

from __future__ import annotations

import pytest

from millstream.changelog import letters
from millstream.errors import Code, ScriptError
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import walk
from millstream.plan.operators.rank import Rank, Ties
from millstream.plan.program import compile_script
from millstream.source import SourceText

KAFKA = "'topic' = 't', 'properties.bootstrap.servers' = 'x:9092'"
UPSERT = f"'connector' = 'upsert-kafka', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json'"
TABLES = f"""
CREATE TABLE t (
  id INT, g STRING, x INT, tags ARRAY<INT>, ts TIMESTAMP(3), arrived AS PROCTIME(), WATERMARK FOR ts AS ts
) WITH ('connector' = 'kafka', {KAFKA}, 'format' = 'json');
CREATE TABLE u (id INT, g STRING, x INT, PRIMARY KEY (id, g) NOT ENFORCED) WITH ({UPSERT});
CREATE VIEW numbered AS SELECT id, g, x, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x DESC) AS rn FROM t;
"""


JOINED = "(SELECT a.id AS i FROM t AS a JOIN {} AS b ON a.id = b.id)"


def compile_query(query: str, **settings: str) -> list[object]:
    [job] = compile_script(SourceText("s", f"{TABLES} {query};"), {}, settings).jobs
    [root] = job.physical.roots
    return list(walk(root.operator))


def rank_of(query: str) -> Rank:
    [rank] = [node for node in compile_query(query) if isinstance(node, Rank)]
    return rank


def filters_of(query: str) -> list[str]:
    return [node.label for node in compile_query(query) if isinstance(node, Filter)]


def numbered(over: str, end: str, table: str = "t", columns: str = "id") -> str:
    return f"SELECT {columns} FROM (SELECT *, ROW_NUMBER() OVER ({over}) AS rn FROM {table}) WHERE {end}"


@pytest.mark.parametrize(
    ("condition", "limit", "left"),
    [
        ("rn <= 3", 3, []),
        ("rn < 3", 2, []),
        ("3 >= rn", 3, []),
        ("3 > rn", 2, []),
        ("rn = 1", 1, []),
        ("1 = rn", 1, []),
        ("rn <= 3 AND rn <= 2", 2, []),
        ("rn BETWEEN 1 AND 3", 3, []),
        ("rn <= 9223372036854775807", (1 << 31) - 1, []),
        ("CAST(rn AS INT) <= 3", 3, []),
        ("rn = 3", 3, ["Filter(`rn` = 3)"]),
        ("rn BETWEEN 2 AND 3", 3, ["Filter(`rn` BETWEEN 2 AND 3)"]),
        ("rn > 1 AND rn <= 3", 3, ["Filter(`rn` > 1)"]),
        ("x > 1 AND (rn <= 3 AND g = 'a')", 3, ["Filter(`x` > 1 AND `g` = 'a')"]),
    ],
)
def test_a_condition_on_the_number_is_the_limit(condition: str, limit: int, left: list[str]) -> None:
    query = f"SELECT id FROM numbered WHERE {condition}"
    assert rank_of(query).limit == limit
    assert filters_of(query) == left


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, rn FROM numbered WHERE rn <= 3",
        "WITH w (i, n) AS (SELECT id, rn FROM numbered) SELECT i FROM w WHERE n <= 3",
        "SELECT id FROM (SELECT id, rn AS n FROM (SELECT * FROM numbered WHERE x > 1) WHERE g > 'a') WHERE n <= 3",
        "SELECT u.id FROM u JOIN numbered AS n ON u.id = n.id WHERE n.rn <= 3",
        "SELECT u.id FROM u JOIN numbered AS n ON u.id = n.id AND n.rn <= 3",
    ],
)
def test_the_number_may_come_from_afar(query: str) -> None:
    assert rank_of(query).limit == 3


@pytest.mark.parametrize(
    ("over", "end", "order", "ties"),
    [
        ("PARTITION BY g ORDER BY x", "rn <= 2", ["x"], Ties.FIRST),
        ("ORDER BY x DESC NULLS FIRST, id NULLS LAST", "rn < 3", ["x DESC NULLS FIRST", "id NULLS LAST"], Ties.FIRST),
        ("ORDER BY x DESC, x", "rn <= 2", ["x DESC"], Ties.FIRST),
        ("PARTITION BY g ORDER BY arrived, x", "rn = 1", [], Ties.FIRST),
        ("PARTITION BY g ORDER BY arrived DESC", "rn = 1", [], Ties.LAST),
        ("PARTITION BY g ORDER BY x, PROCTIME() DESC", "rn <= 2", ["x"], Ties.LAST),
        ("PARTITION BY g ORDER BY ts", "rn = 1", ["ts"], Ties.FIRST),
        ("PARTITION BY g ORDER BY ts DESC", "rn = 1", ["ts DESC"], Ties.LAST),
        ("PARTITION BY g ORDER BY ts DESC", "rn <= 2", ["ts DESC"], Ties.FIRST),
    ],
)  # fmt: skip
def test_what_decides(over: str, end: str, order: list[str], ties: Ties) -> None:
    rank = rank_of(numbered(over, end))
    assert ([str(column) for column in rank.order], rank.ties) == (order, ties)


@pytest.mark.parametrize(
    "query",
    [
        numbered("PARTITION BY g ORDER BY x", "rn <= 2", "u"),
        numbered("PARTITION BY g ORDER BY x", "rn <= 2", "(SELECT DISTINCT id, g, x FROM t)"),
        "SELECT id FROM u LIMIT 2",
    ],
)
def test_behind_state_or_updates_the_other_columns_decide(query: str) -> None:
    assert rank_of(query).ties is Ties.CONTENTS


@pytest.mark.parametrize(
    ("query", "kinds", "keys"),
    [
        (numbered("PARTITION BY g ORDER BY x", "rn <= 2", columns="id, g, rn"), "I,UB,UA", [("g", "rn")]),
        (numbered("PARTITION BY g ORDER BY x", "rn <= 2", columns="id, g"), "I,D", []),
        (numbered("PARTITION BY g ORDER BY x", "rn = 1", columns="id, g, rn"), "I,UB,UA", [("g",)]),
        (numbered("PARTITION BY g ORDER BY x", "rn = 1", "u", "id, g"), "I,UB,UA,D", [("g",)]),
        (numbered("PARTITION BY g ORDER BY x", "rn <= 2", "u", "id, g, x"), "I,D", [("id", "g")]),
        (numbered("PARTITION BY x ORDER BY g", "rn <= 2", "u", "id, g, x"), "I,D", []),
        (numbered("PARTITION BY g ORDER BY arrived", "rn = 1", columns="id, g"), "I", [("g",)]),
        (numbered("PARTITION BY g ORDER BY arrived", "rn <= 2", columns="id, rn, g"), "I", [("g", "rn")]),
        (numbered("PARTITION BY g ORDER BY arrived DESC", "rn = 1", columns="id, g"), "I,UB,UA", [("g",)]),
        ("SELECT id FROM t LIMIT 3", "I", []),
        ("SELECT id, g FROM u ORDER BY x LIMIT 3", "I,D", [("id", "g")]),
        ("SELECT COUNT(*) AS n FROM (SELECT id FROM t LIMIT 3)", "I,UB,UA", [()]),
    ],
)
def test_kinds_and_keys(query: str, kinds: str, keys: list[tuple[str, ...]]) -> None:
    root = compile_query(query)[0]
    assert letters(root.changelog) == kinds  # type: ignore[attr-defined]
    assert list(root.upsert_keys) == keys  # type: ignore[attr-defined]


def test_the_first_to_arrive_need_only_the_columns_that_are_shown() -> None:
    rank = rank_of(numbered("PARTITION BY g ORDER BY arrived", "rn = 1"))
    assert [column.name for column in rank.columns] == ["id", "g"]
    assert rank.declare_state() == {"keys": ["`g` STRING"], "limit": 1, "retractions": False}


@pytest.mark.parametrize(
    ("query", "label"),
    [
        ("SELECT id FROM t ORDER BY x DESC LIMIT 3", "Rank(keys=[], order=[$order1 DESC, arrival], limit=[3])"),
        ("SELECT id AS i FROM u ORDER BY i FETCH FIRST 2 ROWS ONLY", "Rank(keys=[], order=[i], limit=[2])"),
        ("SELECT id, x FROM u ORDER BY 2, 1 FETCH NEXT ROW ONLY", "Rank(keys=[], order=[x, id], limit=[1])"),
        ("SELECT DISTINCT x FROM t ORDER BY x LIMIT 2", "Rank(keys=[], order=[x], limit=[2])"),
        ("SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY n DESC, MAX(x) LIMIT 2",
         "Rank(keys=[], order=[n DESC, $order2], limit=[2])"),
        ("SELECT id FROM t UNION ALL SELECT x FROM u ORDER BY id LIMIT 2", "Rank(keys=[], order=[id], limit=[2])"),
        ("SELECT id FROM t ORDER BY id LIMIT 2 OFFSET 3",
         "Rank(keys=[], order=[id, arrival], limit=[5], rank=[$rank])"),
    ],
)  # fmt: skip
def test_a_limit_is_a_rank_of_all_rows(query: str, label: str) -> None:
    assert rank_of(query).label == label


@pytest.mark.parametrize(
    ("query", "primary", "code"),
    [
        ("SELECT * FROM numbered WHERE rn < 1", "no row has a row number below 1", Code.UNSUPPORTED_EXPRESSION),
        (numbered("PARTITION BY g", "rn = 1"), "ROW_NUMBER() without ORDER BY", Code.UNSUPPORTED_EXPRESSION),
        (numbered("ORDER BY tags", "rn = 1"), "rows cannot be ordered by a value of type ARRAY", Code.TYPE_MISMATCH),
        (numbered("ORDER BY nope", "rn = 1"), 'column "nope" is not a column of "t"', Code.UNDEFINED_COLUMN),
        (
            numbered("ORDER BY PROCTIME()", "rn = 1", "u"),
            "ROW_NUMBER() by processing time",
            Code.UNSUPPORTED_EXPRESSION,
        ),
        ("SELECT id FROM t ORDER BY id", "ORDER BY is not supported yet", Code.UNSUPPORTED_STATEMENT),
        ("SELECT id FROM t LIMIT 0", "LIMIT 0 gives no rows", Code.UNSUPPORTED_STATEMENT),
        ("SELECT id FROM t ORDER BY 2 LIMIT 1", "ORDER BY 2 is not the position of a column", Code.UNDEFINED_COLUMN),
        ("SELECT DISTINCT id FROM t ORDER BY x LIMIT 1", "ORDER BY after DISTINCT or UNION", Code.UNDEFINED_COLUMN),
        ("SELECT id FROM t ORDER BY nope LIMIT 1", 'column "nope" is not a column', Code.UNDEFINED_COLUMN),
    ],
)
def test_what_is_refused(query: str, primary: str, code: Code) -> None:
    with pytest.raises(ScriptError) as refused:
        compile_query(query)
    found = refused.value.diagnostics[0]
    assert found.primary.startswith(primary)
    assert (found.code, found.span is not None) == (code, True)
    assert found.hint is not None or code is Code.UNDEFINED_COLUMN


def test_a_sink_that_takes_inserts_only_is_told_what_updates() -> None:
    sink = f"CREATE TABLE s (id INT) WITH ('connector' = 'kafka', {KAFKA}, 'format' = 'json');"
    with pytest.raises(ScriptError) as refused:
        compile_query(f"{sink} INSERT INTO s SELECT id FROM t ORDER BY x LIMIT 3")
    assert refused.value.code is Code.SINK_REFUSES_CHANGES
    assert "The Top-N at line" in str(refused.value.diagnostics[0].detail)


def test_rows_that_a_ttl_gives_again_have_no_order_of_arrival() -> None:
    """Repeated rows of a DISTINCT keep the state of the join alive, which gives its pairs again."""
    distinct = "(SELECT DISTINCT id FROM t)"
    ttl = {"table.exec.state.ttl": "1 h"}
    by_arrival = numbered("PARTITION BY id ORDER BY PROCTIME()", "rn = 1", distinct)
    compile_query(by_arrival, **ttl)
    joined = numbered("PARTITION BY i ORDER BY PROCTIME()", "rn = 1", JOINED.format(distinct), "i")
    compile_query(joined)
    with pytest.raises(ScriptError, match="by processing time over rows that are updated"):
        compile_query(joined, **ttl)
    compile_query(numbered("PARTITION BY i ORDER BY PROCTIME()", "rn = 1", JOINED.format("t"), "i"), **ttl)
