"""The job of these tests: counts numbers by their last digit."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

SCRIPT = """
CREATE TABLE numbers (digit BIGINT, n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${numbers}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
CREATE TABLE digits (digit BIGINT, seen BIGINT, different BIGINT, PRIMARY KEY (digit) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = '${digits}', 'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json', 'value.format' = 'json');
INSERT INTO digits SELECT digit, COUNT(*), COUNT(DISTINCT n) FROM numbers GROUP BY digit;
"""


def numbers(values: Iterable[int]) -> list[dict[str, int]]:
    return [{"digit": value % 10, "n": value} for value in values]


def truth(rows: Iterable[dict[str, int]]) -> dict[str, dict[str, Any]]:
    rows = list(rows)
    seen = Counter(row["digit"] for row in rows)
    different = Counter(digit for digit, _ in {(row["digit"], row["n"]) for row in rows})
    return {
        f'{{"digit":{digit}}}': {"digit": digit, "seen": seen[digit], "different": different[digit]} for digit in seen
    }
