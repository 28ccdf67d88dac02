"""A typed expression written as SQL reads back as the same typed expression."""

from __future__ import annotations

import pytest

from millstream.plan.resolver.sql_text import sql_text
from tests.runtime.expression_cases import GROUPS
from tests.unit.plan.expressions import resolve


@pytest.mark.parametrize("group", GROUPS)
def test_text_reads_back_as_the_same_expression(group: str) -> None:
    for text, _ in GROUPS[group]:
        expression = resolve(text)
        assert resolve(sql_text(expression)) == expression, text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("(a + b) * c", "(`a` + `b`) * `c`"),
        ("a - (b - c)", "`a` - (`b` - `c`)"),
        ("(a - b) - c", "`a` - `b` - `c`"),
        ("NOT (a > 1 AND b > 2) OR c > 3", "NOT (`a` > 1 AND `b` > 2) OR `c` > 3"),
        ("(a > 1 OR b > 2) AND c > 3", "(`a` > 1 OR `b` > 2) AND `c` > 3"),
        ("-(-a)", "-(-`a`)"),
        ("-(2147483648)", "-(2147483648)"),
        ("FLOOR((TIMESTAMP '2020-01-01 00:00:00' + INTERVAL '1' DAY) TO DAY)", None),
        ("(a + b) IS NULL", "`a` + `b` IS NULL"),
        ("(a > b) IS TRUE", "(`a` > `b`) IS TRUE"),
        ("a IN (1, 2) = (b > 1)", "(`a` IN (1, 2)) = (`b` > 1)"),
        ("CASE WHEN a > 1 THEN 'x''y' ELSE NULL END", "CASE WHEN `a` > 1 THEN 'x''y' ELSE NULL END"),
        ("INTERVAL '90' SECOND", "INTERVAL '90' SECOND"),
        ("INTERVAL '1:30' HOUR TO MINUTE", "INTERVAL '90' MINUTE"),
        ("INTERVAL '-14' MONTH", "INTERVAL '-14' MONTH"),
        ("TIME '12:34:56'", "CAST('12:34:56' AS TIME(0))"),
        ("1.50", "1.50"),
        ("1E3", "1000.0e0"),
    ],
)
def test_parentheses_stand_where_they_are_needed(written: str, text: str | None) -> None:
    columns = dict.fromkeys("abc", "INT")
    expression = resolve(written, columns)
    assert text is None or sql_text(expression) == text
    assert resolve(sql_text(expression), columns) == expression
