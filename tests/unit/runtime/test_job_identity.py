"""Which changes of a script a checkpoint minds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from millstream.plan.program import compile_script
from millstream.runtime.earlier_identities import describe_state
from millstream.runtime.job_identity import compare_state, declare_state
from millstream.source import SourceText

if TYPE_CHECKING:
    from millstream.plan.program import JobPlan

SCRIPT = """
CREATE TABLE orders (customer STRING, amount INT, note STRING) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE totals (customer STRING, total BIGINT, PRIMARY KEY (customer) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'totals', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json');
INSERT INTO totals SELECT customer, COUNT(amount) FROM orders WHERE amount > 0 GROUP BY customer;
"""
GOES_ON = {
    "a filter": ("amount > 0", "amount > 1"),
    "no filter": (" WHERE amount > 0", ""),
    "a result": ("COUNT(amount) FROM", "COUNT(amount) + 1 FROM"),
    "a sink option": (
        "'value.format' = 'json'",
        "'value.format' = 'json', 'value.json.encode.decimal-as-plain-number' = 'true'",
    ),
    "the sink's topic": ("'topic' = 'totals'", "'topic' = 'sums'"),
    "a source option": ("'format' = 'json')", "'format' = 'json', 'json.ignore-parse-errors' = 'true')"),
}
IS_REFUSED = {
    "aggregates": ("COUNT(amount)", "SUM(amount)", "aggregates: was [COUNT `amount` INT], is [SUM `amount` INT]."),
    "GROUP BY": ("GROUP BY customer", "GROUP BY customer, note", "`customer` STRING, `note` STRING]."),
    "source": ("'topic' = 'orders'", "'topic' = 'sales'", "source: was [orders], is [sales]."),
    "type": ("amount INT", "amount BIGINT", "is [COUNT `amount` BIGINT]."),
}
ANOTHER_PLACE = ("INSERT INTO", "-- as agreed\n\n  INSERT INTO")


def compile_job(before: str = "", after: str = "", settings: dict[str, str] | None = None) -> JobPlan:
    text = SCRIPT.replace(before, after) if before else SCRIPT
    assert not before or text != SCRIPT
    [job] = compile_script(SourceText("s", text), {}, settings or {}).jobs
    return job


def query(text: str) -> JobPlan:
    [job] = compile_script(SourceText("s", SCRIPT[: SCRIPT.index("INSERT INTO")] + text), {}, {}).jobs
    return job


def reload_state(job: JobPlan) -> dict[str, Any]:
    """As a checkpoint gives it back."""
    found: dict[str, Any] = json.loads(json.dumps(declare_state(job)))
    return found


def difference(before: JobPlan, after: JobPlan) -> str | None:
    found = compare_state(reload_state(before), after)
    return None if found is None else found.detail


@pytest.mark.parametrize("change", GOES_ON)
def test_compatible_change_has_the_same_state(change: str) -> None:
    assert difference(compile_job(), compile_job(*GOES_ON[change])) is None
    assert describe_state(compile_job(), 2) == describe_state(compile_job(*GOES_ON[change]), 2)


@pytest.mark.parametrize("change", IS_REFUSED)
def test_other_state_is_named(change: str) -> None:
    before, after, sentence = IS_REFUSED[change]
    assert sentence in (difference(compile_job(), compile_job(before, after)) or "")
    assert describe_state(compile_job(), 2) != describe_state(compile_job(before, after), 2)


LISTED = "INSERT INTO totals SELECT customer, CAST(CARDINALITY({}) AS BIGINT) FROM orders GROUP BY customer;"
VIEW = """CREATE VIEW sold AS SELECT customer, {} AS cost FROM orders;
INSERT INTO totals SELECT customer, SUM(cost) FROM sold {} GROUP BY customer;"""
TAKEN_BACK = """CREATE TABLE sales (customer STRING, amount INT, note STRING) WITH (
  'connector' = 'kafka', 'topic' = 'sales', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'debezium-json');
INSERT INTO totals SELECT customer, CAST({} AS BIGINT) FROM sales;"""
MIXED = {
    "FILTER": (
        LISTED.format("ARRAY_AGG(amount)"),
        LISTED.format("ARRAY_AGG(amount) FILTER (WHERE amount > 1)"),
        "is [ARRAY_AGG `amount` INT FILTER (WHERE `amount` > 1) (kept as arrivals)].",
    ),
    "another FILTER": (
        LISTED.format("ARRAY_AGG(amount) FILTER (WHERE amount > 0)"),
        LISTED.format("ARRAY_AGG(amount) FILTER (WHERE amount > 1)"),
        "FILTER (WHERE `amount` > 0) (kept as arrivals)], is [ARRAY_AGG `amount` INT FILTER (WHERE `amount` > 1)",
    ),
    "IGNORE NULLS": (
        LISTED.format("ARRAY_AGG(amount)"),
        LISTED.format("ARRAY_AGG(amount) IGNORE NULLS"),
        "is [ARRAY_AGG `amount` INT FILTER (WHERE NOT `amount` IS NULL)",
    ),
    "a view below WHERE": (
        VIEW.format("amount * 2", "WHERE cost > 1"),
        VIEW.format("amount * 3", "WHERE cost > 1"),
        "was [SUM `amount` * 2 INT], is [SUM `amount` * 3 INT].",
    ),
    "rows that are kept": (
        TAKEN_BACK.format("amount * 2"),
        TAKEN_BACK.format("amount * 3"),
        "total BIGINT = CAST(`amount` * 3 AS BIGINT)]",
    ),
}


@pytest.mark.parametrize("change", MIXED)
def test_state_that_would_be_mixed_is_named(change: str) -> None:
    before, after, sentence = MIXED[change]
    assert sentence in (difference(query(before), query(after)) or "")
    assert describe_state(query(before), 1) == describe_state(query(after), 1), "version 1 described them alike"
    assert describe_state(query(before), 2) != describe_state(query(after), 2)


@pytest.mark.parametrize("call", ["LAST_VALUE", "MAX", "COUNT(DISTINCT amount)", "LISTAGG(note)", "COLLECT"])
def test_a_changed_filter_of_a_call_is_another_state(call: str) -> None:
    """Also of calls to which it comes as a CASE in their argument."""
    written = call if "(" in call else f"{call}(amount)"
    text = f"SELECT customer, {written} FILTER (WHERE amount > {{}}) FROM orders GROUP BY customer;"
    assert difference(query(text.format(1)), query(text.format(2))) is not None


def test_a_filter_over_a_view_is_no_other_state() -> None:
    with_filter, without = VIEW.format("amount * 2", "WHERE cost > 1"), VIEW.format("amount * 2", "")
    assert difference(query(with_filter), query(without)) is None


def test_separator_is_no_state() -> None:
    text = "INSERT INTO totals SELECT customer, CHAR_LENGTH(LISTAGG(note, '{}')) FROM orders GROUP BY customer;"
    assert difference(query(text.format(";")), query(text.format("-"))) is None


def test_what_is_gone_and_what_is_new_is_named() -> None:
    grouped, plain = compile_job(), query("SELECT customer FROM orders;")
    assert "GROUP BY: [`customer` STRING] has been removed." in (difference(grouped, plain) or "")
    assert "GROUP BY: [`customer` STRING] has been added." in (difference(plain, grouped) or "")


JOINED = "SELECT a.note FROM orders AS a JOIN orders AS b ON a.{} = b.{};"


def test_sides_and_keys_of_a_join_are_state() -> None:
    found = difference(query(JOINED.format("customer", "customer")), query(JOINED.format("customer", "note")))
    assert found is not None
    assert "join key of the right side: was [`customer` STRING], is [`note` STRING]." in found


def test_place_and_settings_do_not_count() -> None:
    assert difference(compile_job(), compile_job(*ANOTHER_PLACE)) is None
    assert difference(compile_job(), compile_job(settings={"table.exec.sink.not-null-enforcer": "DROP"})) is None


UNITED = """SELECT id, SUM(v) FROM (SELECT customer AS id, {} AS {} FROM orders UNION ALL SELECT note, {} FROM orders)
GROUP BY id;"""


def test_what_the_queries_of_a_union_compute_is_state() -> None:
    before = query(UNITED.format("amount", "v", "amount"))
    assert difference(before, query(UNITED.format("amount", "v", "amount * 100"))) is not None
    assert difference(before, query(UNITED.format("amount", "w", "amount").replace("SUM(v)", "SUM(w)"))) is None


PAIRS = (
    "SELECT a.amount * 2 FROM orders AS a JOIN orders AS b ON a.customer = b.customer AND a.note < b.note "
    "WHERE a.amount > 0;"
)
NOTES = "SELECT note FROM orders UNION ALL SELECT customer FROM orders;"


@pytest.mark.parametrize(
    ("before", "after"),
    [("* 2", "* 3"), ("a.note < b.note", "a.note > b.note"), ("> 0", "> 1")],
)
def test_what_is_done_with_pairs_is_no_state_of_a_join(before: str, after: str) -> None:
    assert difference(query(PAIRS), query(PAIRS.replace(before, after))) is None


@pytest.mark.parametrize(
    ("text", "before", "after", "told"),
    [
        (PAIRS, "a.customer = b.customer", "a.note = b.customer", "join key of the left side"),
        (PAIRS, "a.amount * 2", "b.amount", "right side of the join"),
        (NOTES, ";", " UNION ALL SELECT note FROM orders;", "source: [orders] has been added."),
    ],
)
def test_other_sides_of_a_join_or_union_are_named(text: str, before: str, after: str, told: str) -> None:
    assert told in (difference(query(text), query(text.replace(before, after))) or "")
