"""A literal that can never be worth anything is refused where it stands."""

from __future__ import annotations

import pytest

from millstream.errors import Code
from tests.unit.plan.expressions import problems

COLUMNS = {"a": "INT", "b": "STRING", "t": "TIMESTAMP(3)"}


@pytest.mark.parametrize(
    "text",
    [
        "DATE '2024-02-30'",
        "DATE 'x'",
        "TIMESTAMP 'x'",
        "TIMESTAMP '2024-02-28 25:00:00'",
        "CAST('2023-02-29' AS DATE)",
        "INTERVAL '25:61' HOUR TO MINUTE",
        "INTERVAL '1-12' YEAR TO MONTH",
        "REGEXP(b, '(')",
        "REGEXP_REPLACE(b, '[a', 'x')",
        "DATE_FORMAT(t, 'YYYY-ww')",
        "DATE_FORMAT(t, 'yyyy''')",
    ],
)
def test_impossible(text: str) -> None:
    assert [one.code for one in problems(text, COLUMNS)] == [Code.TYPE_MISMATCH]


@pytest.mark.parametrize(
    "text",
    [
        "DATE '2024-02-29'",
        "DATE '0000-02-29'",
        "TIMESTAMP '2024-02-28 23:59:59.123456789'",
        "CAST('2024-02-28T10:00:00Z' AS TIMESTAMP_LTZ(3))",
        "CAST('2024' AS DATE)",
        "TRY_CAST('x' AS DATE)",
        "INTERVAL '25:59' HOUR TO MINUTE",
        r"REGEXP(b, '\p{Alpha}+(?<name>x)')",
        "REGEXP(b, b)",
        "DATE_FORMAT(t, 'yyyy-MM-dd''T''HH:mm:ss ''w''')",
    ],
)
def test_possible(text: str) -> None:
    assert problems(text, COLUMNS) == []


@pytest.mark.parametrize("text", ["a = '5'", "a IN ('1', 2)", "5 = '5'", "CASE WHEN a = 1 THEN 1 ELSE 'x' END"])
def test_numbers_and_texts_are_not_compared(text: str) -> None:
    """Flink refuses these too."""
    [found] = problems(text, COLUMNS)
    assert found.code is Code.TYPE_MISMATCH
    assert (found.hint or "").endswith("CAST one of the two.")
