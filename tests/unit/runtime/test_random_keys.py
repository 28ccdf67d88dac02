"""A key that is drawn by chance does not go with exactly-once."""

from __future__ import annotations

import pytest

from millstream.errors import Code
from millstream.plan.program import compile_script
from millstream.runtime.before_start import unbuilt_in
from millstream.source import SourceText

SCRIPT = """
CREATE TABLE orders (customer STRING, amount INT) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
CREATE TABLE counts (part INT, n BIGINT, PRIMARY KEY (part) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'counts', 'properties.bootstrap.servers' = 'x:9092',
  'key.format' = 'json', 'value.format' = 'json', {guarantee});
CREATE TABLE copies (id STRING, amount INT) WITH (
  'connector' = 'kafka', 'topic' = 'copies', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json',
  {parallelism} {guarantee});
{query};
"""
ONCE = "'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'x'"
GROUPED = "INSERT INTO counts SELECT RAND_INTEGER(4), COUNT(*) FROM orders GROUP BY RAND_INTEGER(4)"
IN_A_VIEW = """CREATE VIEW parts AS SELECT CAST(RAND() * 4 AS INT) AS part, amount FROM orders;
INSERT INTO counts SELECT part, COUNT(*) FROM parts WHERE part > 0 GROUP BY part"""
COPIED = "INSERT INTO copies SELECT UUID(), amount FROM orders"


def codes(query: str, guarantee: str = ONCE, parallelism: str = "") -> list[Code]:
    text = SCRIPT.format(query=query, guarantee=guarantee, parallelism=parallelism)
    return [problem.code for problem in unbuilt_in(compile_script(SourceText("s", text), {}, {}))]


@pytest.mark.parametrize("query", [GROUPED, IN_A_VIEW])
def test_groups_by_chance_are_refused_exactly_once(query: str) -> None:
    assert codes(query) == [Code.CONFLICTING_OPTIONS]
    assert codes(query, "'sink.delivery-guarantee' = 'at-least-once'") == []


def test_rows_are_not_spread_by_what_is_drawn() -> None:
    assert codes(COPIED) == []
    assert codes(COPIED, parallelism="'sink.parallelism' = '2',") == [Code.CONFLICTING_OPTIONS]
    assert codes(COPIED.replace("UUID()", "customer"), parallelism="'sink.parallelism' = '2',") == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT amount, COUNT(DISTINCT RAND_INTEGER(4)) FROM orders GROUP BY amount",
        "SELECT amount, COUNT(*) FROM orders WHERE RAND() < 0.5 GROUP BY amount",
    ],
)
def test_state_is_not_made_of_what_is_drawn(query: str) -> None:
    """Done again, the batch would have another state than what was written of it."""
    assert codes(f"INSERT INTO counts {query}") == [Code.CONFLICTING_OPTIONS]
