"""Which changes a job may have while a batch of it is unfinished."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.plan.program import compile_script
from millstream.runtime.replay import ReplayIdentity
from millstream.source import SourceText

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
CREATE TABLE orders (customer STRING, amount INT) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
"""
SINK = """
  'properties.bootstrap.servers' = 'x:9092', 'topic' = 'totals', 'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = 'totals');
"""
TOTALS = f"""{SOURCE}
CREATE TABLE totals (customer STRING, total BIGINT, PRIMARY KEY (customer) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'key.format' = 'json', 'value.format' = 'json', {SINK}
INSERT INTO totals SELECT customer, SUM(amount) FROM orders WHERE amount > 0 GROUP BY customer;
"""
PASSED = f"""{SOURCE}
CREATE TABLE totals (customer STRING, amount INT) WITH ('connector' = 'kafka', 'format' = 'json', {SINK}
INSERT INTO totals SELECT customer, amount FROM orders WHERE amount > 0;
"""
JSON = "'format' = 'json')"
SKIPS = (JSON, "'format' = 'json', 'json.ignore-parse-errors' = 'true')")
SETS_ASIDE = (JSON, "'format' = 'json', 'scan.dead-letter.topic' = 'bad')")
GOES_ON = {
    "nothing": ("", ""),
    "unreadable messages are skipped": SKIPS,
    "unreadable messages are set aside": SETS_ASIDE,
    "lost messages are accepted": (JSON, "'format' = 'json', 'scan.fail-on-data-loss' = 'false')"),
    "another start, which the batch does not heed": (JSON, "'format' = 'json', 'scan.startup.mode' = 'latest-offset')"),
    "another size of batches": (JSON, "'format' = 'json', 'scan.max-records-per-batch' = '7')"),
    "rows with NULL are dropped": (
        "CREATE TABLE orders",
        "SET 'table.exec.sink.not-null-enforcer' = 'DROP';\nCREATE TABLE orders",
    ),
    "how batches are run": (
        "CREATE TABLE orders",
        "SET 'parallelism.default' = '3';\nSET 'execution.checkpointing.interval' = '5 s';\nCREATE TABLE orders",
    ),
    "a result": ("SUM(amount)", "SUM(amount) + 1"),
    "a filter of results": ("GROUP BY customer", "GROUP BY customer HAVING SUM(amount) > 3"),
    "the sink's topic": ("'topic' = 'totals'", "'topic' = 'sums'"),
}
MUST_BE_UNWRITTEN = {
    "a filter of what is counted": ("amount > 0", "amount > 1"),
    "a column of it": ("SUM(amount)", "SUM(amount * 2)"),
    "another reading of messages": (JSON, "'format' = 'json', 'json.timestamp-format.standard' = 'ISO-8601')"),
    "an end, which the batch may lie behind": (
        JSON,
        "'format' = 'json', 'scan.bounded.mode' = 'latest-offset')",
    ),
    "whether aborted messages are read": (
        JSON,
        "'format' = 'json', 'properties.isolation.level' = 'read_committed')",
    ),
    "how long state is kept": ("CREATE TABLE orders", "SET 'table.exec.state.ttl' = '1 h';\nCREATE TABLE orders"),
    "how long a hint keeps it": ("SELECT", "SELECT /*+ STATE_TTL('orders' = '1 h') */"),
}


def identity(script: str, change: tuple[str, str] = ("", ""), name: str = "s") -> ReplayIdentity:
    before, after = change
    text = script.replace(before, after, 1) if before else script
    assert not before or text != script
    [job] = compile_script(SourceText(name, text), {}, {}).jobs
    return ReplayIdentity.from_json(ReplayIdentity.of(job).to_json())


@pytest.mark.parametrize("change", GOES_ON)
def test_batch_written_in_part_goes_on_with(change: str) -> None:
    assert identity(TOTALS, GOES_ON[change]).may_finish(identity(TOTALS))
    assert identity(TOTALS).may_finish(identity(TOTALS, GOES_ON[change]))


@pytest.mark.parametrize("change", MUST_BE_UNWRITTEN)
def test_batch_must_be_unwritten_for(change: str) -> None:
    assert not identity(TOTALS, MUST_BE_UNWRITTEN[change]).may_finish(identity(TOTALS))


def test_function_that_is_replaced_below_an_aggregate_must_be_unwritten(tmp_path: Path) -> None:
    (tmp_path / "rates.py").write_text(
        "def low(a: int) -> int:\n    return a\ndef high(a: int) -> int:\n    return a + 1\n"
    )
    calls = TOTALS.replace("SUM(amount)", "SUM(rate(amount))")
    low, high = (f"CREATE FUNCTION rate AS 'rates:{name}' LANGUAGE PYTHON;\n{calls}" for name in ("low", "high"))
    name = str(tmp_path / "s.sql")
    assert not identity(low, name=name).may_finish(identity(high, name=name))
    assert identity(low, name=name).may_finish(identity(low, name=name))


def test_what_two_ways_of_not_failing_give_is_not_the_same() -> None:
    """A message that is read in part gives a row with one of them, and none with the other."""
    assert not identity(TOTALS, SKIPS).may_finish(identity(TOTALS, SETS_ASIDE))
    assert identity(TOTALS, SKIPS).may_finish(identity(TOTALS, SKIPS))


@pytest.mark.parametrize("format_", ["csv", "debezium-json", "canal-json"])
def test_every_format_that_skips_errors_is_known_to(format_: str) -> None:
    as_format = (JSON, f"'format' = '{format_}')")
    skips = (JSON, f"'format' = '{format_}', '{format_}.ignore-parse-errors' = 'true')")
    assert identity(TOTALS, as_format).on_error == ("fail",)
    assert identity(TOTALS, skips).on_error == ("skip",)
    assert identity(TOTALS, skips).may_finish(identity(TOTALS, as_format))


@pytest.mark.parametrize("change", [("amount > 0", "amount > 1"), ("customer, amount FROM", "'x', amount FROM"), SKIPS])
def test_job_without_state_goes_on_with_any_change(change: tuple[str, str]) -> None:
    """Its writers share nothing: each has the rows of one partition."""
    assert identity(PASSED, change).may_finish(identity(PASSED))


SPREAD = PASSED.replace(
    "'connector' = 'kafka', 'format' = 'json', \n", "'connector' = 'kafka', 'format' = 'json',"
).replace(
    "(customer STRING, amount INT) WITH ('connector' = 'kafka', 'format'",
    "(customer STRING, amount INT, PRIMARY KEY (customer) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', "
    "'sink.parallelism' = '3', 'key.format' = 'json', 'value.format'",
)
TWO = (
    PASSED.replace(
        "INSERT INTO totals", "BEGIN STATEMENT SET; INSERT INTO totals SELECT '', 0 FROM orders; INSERT INTO totals"
    )
    + "END;"
)


@pytest.mark.parametrize(
    "change",
    [("= '3'", "= '4'"), ("customer, amount FROM", "UPPER(customer), amount FROM"), ("amount > 0", "amount > 1")],
)
def test_rows_that_are_spread_by_their_key_must_come_to_the_same_writer(change: tuple[str, str]) -> None:
    assert not identity(SPREAD, change).may_finish(identity(SPREAD))
    assert identity(SPREAD, SKIPS).may_finish(identity(SPREAD))


@pytest.mark.parametrize("change", [("amount > 0", "amount > 1"), ("'', 0", "'', 1")])
def test_inserts_of_a_set_must_stay_what_they_are(change: tuple[str, str]) -> None:
    """Their writers are told apart by their place in the set."""
    assert not identity(TWO, change).may_finish(identity(TWO))
    assert identity(TWO, SKIPS).may_finish(identity(TWO))


def test_prefixes_are_kept_of_tables_that_are_written_exactly_once() -> None:
    assert identity(PASSED).prefixes == {"totals": "totals"}
    at_least_once = ("'sink.delivery-guarantee' = 'exactly-once'", "'sink.delivery-guarantee' = 'at-least-once'")
    assert identity(PASSED, at_least_once).prefixes == {}
