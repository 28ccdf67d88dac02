"""`STATE_TTL`: which operators of a SELECT keep their state for how long."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.errors import Code, ScriptError
from millstream.plan.operators.aggregate import Aggregate
from millstream.plan.operators.join import Join
from millstream.plan.operators.node import walk
from millstream.plan.program import JobPlan, compile_script
from millstream.source import SourceText

_KAFKA = "'properties.bootstrap.servers' = 'x:9092'"
TABLES = "".join(
    f"CREATE TABLE {name} (id INT, x INT, arrived AS PROCTIME()) WITH "
    f"('connector' = 'kafka', 'topic' = '{name}', {_KAFKA}, 'format' = 'json');\n"
    for name in "abc"
) + (
    f"CREATE TABLE k (id INT, y INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'k', "
    f"{_KAFKA}, 'key.format' = 'json', 'value.format' = 'json');\n"
    "CREATE VIEW v AS SELECT id, x FROM a WHERE x > 3;\n"
)


def compile_job(query: str, **settings: str) -> JobPlan:
    [job] = compile_script(SourceText("s", f"{TABLES}{query};"), {}, settings).jobs
    return job


def ttls_of(query: str) -> list[tuple[str, ...]]:
    """Of each operator with state, from the sink downwards, in hours."""
    nodes = [node for node in walk(compile_job(query).roots[0]) if isinstance(node, Join | Aggregate)]
    return [tuple(_hours(ttl) for ttl in node.hinted_ttls) for node in nodes]


def _hours(ttl: timedelta | None) -> str:
    return "-" if ttl is None else f"{ttl // timedelta(hours=1)}"


JOINED = "a JOIN b ON a.id = b.id"


@pytest.mark.parametrize(
    ("query", "ttls"),
    [
        (f"SELECT /*+ STATE_TTL('a' = '2 h', 'b' = '3 h') */ a.x FROM {JOINED}", [("2", "3")]),
        (f"SELECT /*+ STATE_TTL('b' = '3 h') */ a.x FROM {JOINED}", [("-", "3")]),
        (f"SELECT /*+ STATE_TTL('b' = '0') */ a.x FROM {JOINED}", [("-", "0")]),
        (f"SELECT /*+ STATE_TTL('a' = '1 h', 'a' = '2 h'), STATE_TTL('a' = '3 h') */ a.x FROM {JOINED}", [("2", "-")]),
        ("SELECT /*+ STATE_TTL('l' = '2 h') */ l.x FROM a AS l, a AS r WHERE l.id = r.id", [("2", "-")]),
        ("SELECT /*+ STATE_TTL('v' = '2 h') */ v.x FROM b FULL JOIN v ON b.id = v.id", [("-", "2")]),
        (
            ("SELECT /*+ STATE_TTL('a' = '1 h', 'b' = '2 h', 'c' = '3 h') */ a.x FROM a "
            "LEFT JOIN b ON a.id = b.id LEFT JOIN c ON b.id = c.id"),
            [("-", "3"), ("1", "2")],
        ),
        ("SELECT /*+ STATE_TTL('a' = '1 h', 'c' = '3 h') */ a.x FROM a, b, c WHERE a.id = c.id AND b.x = c.x",
         [("-", "-"), ("1", "3")]),
        ("SELECT /*+ STATE_TTL('a' = '1 h') */ id, COUNT(*) FROM a GROUP BY id", [("1",)]),
        ("SELECT /*+ STATE_TTL('a' = '1 h') */ DISTINCT id, COUNT(*) FROM a GROUP BY id, x", [("1",), ("1",)]),
        (f"SELECT /*+ STATE_TTL('a' = '1 h') */ a.id, COUNT(*) FROM {JOINED} GROUP BY a.id", [("-",), ("1", "-")]),
        (
            ("SELECT /*+ STATE_TTL('a' = '1 h') */ id, COUNT(*) FROM a WHERE id IN (SELECT id FROM b GROUP BY id) "
            "AND x > 1 GROUP BY id"),
            [("1",), ("1", "-"), ("-",)],
        ),
        (
            ("SELECT /*+ STATE_TTL('q' = '1 h') */ x, COUNT(*) FROM (SELECT id, MAX(x) AS x FROM a GROUP BY id) AS q "
            "GROUP BY x"),
            [("1",), ("-",)],
        ),
        (
            ("SELECT x, COUNT(*) FROM (SELECT /*+ STATE_TTL('a' = '1 h') */ id, MAX(x) AS x FROM a GROUP BY id) AS q "
            "GROUP BY x"),
            [("-",), ("1",)],
        ),
        (
            ("WITH q AS (SELECT /*+ STATE_TTL('a' = '1 h') */ id, MAX(x) AS x FROM a GROUP BY id) "
            "SELECT /*+ STATE_TTL('q' = '2 h', 'b' = '3 h') */ q.x FROM q JOIN b ON q.id = b.id"),
            [("2", "3"), ("1",)],
        ),
    ],
)  # fmt: skip
def test_what_a_hint_speaks_of(query: str, ttls: list[tuple[str, ...]]) -> None:
    assert ttls_of(query) == ttls


@pytest.mark.parametrize(
    ("hint", "code", "said", "instead"),
    [
        ("STATE_TTL('orders' = '1 d')", Code.UNDEFINED_TABLE, '"orders", which this SELECT', "It reads l, b;"),
        ("STATE_TTL('a' = '1 d')", Code.UNDEFINED_TABLE, '"a", which this SELECT', "by it"),
        ("STATE_TTL('B' = '1 d')", Code.UNDEFINED_TABLE, '"B", which this SELECT', "Did you mean b?"),
        ("STATE_TTL('c' = '1 d')", Code.UNDEFINED_TABLE, '"c", which this SELECT', "by it"),
        ("STATE_TTL('b' = 'long')", Code.INVALID_OPTION_VALUE, "invalid state TTL of \"b\": 'long'", None),
        ("BROADCAST(kk)", Code.UNDEFINED_TABLE, '"kk", which this SELECT', "It reads l, b, c, a;"),
        ("LOOKUP('table' = 'kk')", Code.UNDEFINED_TABLE, '"kk", which this SELECT', "It reads l, b, c, a;"),
        ("BROADCASTS(b)", Code.UNSUPPORTED_STATEMENT, "BROADCASTS does not exist", "Did you mean BROADCAST?"),
        ("PARALLEL(b)", Code.UNSUPPORTED_STATEMENT, "PARALLEL does not exist", "there can be STATE_TTL, BROADCAST"),
    ],
)
def test_refused(hint: str, code: Code, said: str, instead: str | None) -> None:
    with pytest.raises(ScriptError) as refused:
        compile_job(f"SELECT /*+ {hint} */ l.x FROM a AS l JOIN b ON l.id = b.id WHERE l.x IN (SELECT x FROM c)")
    [problem] = refused.value.diagnostics
    assert (problem.code, said in problem.primary) == (code, True)
    assert instead is None or (problem.hint is not None and instead in problem.hint)


def test_all_problems_of_a_hint_are_said_at_once() -> None:
    with pytest.raises(ScriptError) as refused:
        compile_job("SELECT /*+ STATE_TTL('q' = '1 d', 'a' = 'x'), BROADCAST(w) */ x FROM a")
    assert len(refused.value.diagnostics) == 3


def test_hints_without_effect_are_accepted() -> None:
    hints = "BROADCAST(l, b), SHUFFLE_HASH(c), LOOKUP('table' = 'a', 'async' = 'true'), LOOKUP('table' = 'b')"
    query = "SELECT{} l.x FROM a AS l JOIN b ON l.id = b.id WHERE l.x IN (SELECT x FROM c)"
    assert compile_job(query.format(f" /*+ {hints} */")).explain() == compile_job(query.format("")).explain()


def test_a_ttl_of_one_operator_makes_the_job_tick_and_others_repeat_what_keeps_its_state_alive() -> None:
    hint = " /*+ STATE_TTL('q' = '1 h') */"
    query = "SELECT{} n, COUNT(*) FROM (SELECT id, COUNT(*) AS n FROM a GROUP BY id) AS q GROUP BY n"
    without, with_ = compile_job(query.format("")), compile_job(query.format(hint))
    assert (without.physical.tick_interval, without.physical.state_expires) == (None, False)
    assert (with_.physical.tick_interval, with_.physical.state_expires) == (timedelta(minutes=30), True)
    below = [node for node in walk(with_.roots[0]) if isinstance(node, Aggregate)][-1]
    assert (below.repeats, below.state_ttl) == (True, None)


def test_how_long_rows_are_kept_is_not_part_of_the_state() -> None:
    hint = " /*+ STATE_TTL('a' = '1 h', 'b' = '2 h') */"
    declared = [
        [node.declare_state() for node in walk(compile_job(f"SELECT{each} a.x FROM {JOINED}").roots[0])]
        for each in ("", hint)
    ]
    assert declared[0] == declared[1]
