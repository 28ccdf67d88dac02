"""Which changes of a script a checkpoint minds."""

from __future__ import annotations

import pytest

from millstream.plan.program import compile_script
from millstream.runtime.job_identity import IDENTITY, fingerprint, state_of, told_changes
from millstream.source import SourceText

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
    "aggregates": ("COUNT(amount)", "SUM(amount)", 'aggregates: was [COUNT "amount" INT], is [SUM "amount" INT].'),
    "GROUP BY": ("GROUP BY customer", "GROUP BY customer, note", '"customer" STRING, "note" STRING].'),
    "source": ("'topic' = 'orders'", "'topic' = 'sales'", "source: was [orders], is [sales]."),
    "type": ("amount INT", "amount BIGINT", 'is [COUNT "amount" BIGINT].'),
}
ANOTHER_PLACE = ("INSERT INTO", "-- as agreed\n\n  INSERT INTO")


def compiled(before: str = "", after: str = "", settings: dict[str, str] | None = None) -> tuple[str, list[str]]:
    text = SCRIPT.replace(before, after) if before else SCRIPT
    assert not before or text != SCRIPT
    [job] = compile_script(SourceText("s", text), {}, settings or {}).jobs
    return fingerprint(job), state_of(job)


@pytest.mark.parametrize("change", GOES_ON)
def test_compatible_change_is_another_job_with_the_same_state(change: str) -> None:
    was, now = compiled(), compiled(*GOES_ON[change])
    assert was[0] != now[0]
    assert was[1] == now[1]


@pytest.mark.parametrize("change", IS_REFUSED)
def test_other_state_is_named(change: str) -> None:
    before, after, told = IS_REFUSED[change]
    assert told in told_changes(compiled()[1], compiled(before, after)[1])


def state_of_query(query: str, identity: int = IDENTITY) -> list[str]:
    text = SCRIPT[: SCRIPT.index("INSERT INTO")] + query
    [job] = compile_script(SourceText("s", text), {}, {}).jobs
    return state_of(job, identity)


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
        'was [ARRAY_AGG "amount" INT], is [ARRAY_AGG "amount" INT FILTER (WHERE "amount" > 1)].',
    ),
    "another FILTER": (
        LISTED.format("ARRAY_AGG(amount) FILTER (WHERE amount > 0)"),
        LISTED.format("ARRAY_AGG(amount) FILTER (WHERE amount > 1)"),
        'FILTER (WHERE "amount" > 0)], is [ARRAY_AGG "amount" INT FILTER (WHERE "amount" > 1)].',
    ),
    "IGNORE NULLS": (
        LISTED.format("ARRAY_AGG(amount)"),
        LISTED.format("ARRAY_AGG(amount) IGNORE NULLS"),
        'is [ARRAY_AGG "amount" INT FILTER (WHERE NOT "amount" IS NULL)].',
    ),
    "a view below WHERE": (
        VIEW.format("amount * 2", "WHERE cost > 1"),
        VIEW.format("amount * 3", "WHERE cost > 1"),
        'was [SUM "amount" * 2 INT], is [SUM "amount" * 3 INT].',
    ),
    "rows that are kept": (
        TAKEN_BACK.format("amount * 2"),
        TAKEN_BACK.format("amount * 3"),
        'total BIGINT = CAST("amount" * 3 AS BIGINT)]',
    ),
}


@pytest.mark.parametrize("change", MIXED)
def test_state_that_would_be_mixed_is_named(change: str) -> None:
    before, after, told = MIXED[change]
    assert told in told_changes(state_of_query(before), state_of_query(after))
    assert state_of_query(before, 1) == state_of_query(after, 1), "version 1 described them alike"


def test_a_filter_over_a_view_is_no_other_state() -> None:
    assert state_of_query(VIEW.format("amount * 2", "WHERE cost > 1")) == state_of_query(VIEW.format("amount * 2", ""))


def test_separator_is_no_state() -> None:
    query = "INSERT INTO totals SELECT customer, CHAR_LENGTH(LISTAGG(note, '{}')) FROM orders GROUP BY customer;"
    assert state_of_query(query.format(";")) == state_of_query(query.format("-"))


def test_what_is_gone_and_what_is_new_is_named() -> None:
    grouped, plain = compiled()[1], ["read orders"]
    assert 'GROUP BY: was ["customer" STRING], is no more.' in told_changes(grouped, plain)
    assert 'GROUP BY: was not there, is ["customer" STRING].' in told_changes(plain, grouped)


def test_place_and_settings_without_influence_do_not_count() -> None:
    assert compiled(*ANOTHER_PLACE)[0] == compiled()[0]
    assert compiled(settings={"restart-strategy.type": "none", "spark.x": "1"})[0] == compiled()[0]
    assert compiled(settings={"table.exec.sink.not-null-enforcer": "DROP"})[0] != compiled()[0]
