"""Expressions read back from their own text as the same tree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp
from sqlglot.errors import ParseError

from millstream.errors import ScriptError
from tests.runtime.expression_cases import GROUPS
from tests.unit.plan.expressions import bind, read


@pytest.mark.parametrize("group", GROUPS)
def test_text_reads_back_as_the_same_tree(group: str) -> None:
    for text, _ in GROUPS[group]:
        tree = read(text)
        assert read(tree.sql(dialect="flink")) == tree, text
        assert bind(tree.sql(dialect="flink")).sql(dialect="flink") == bind(text).sql(dialect="flink"), text


@given(st.text())
def test_any_text_is_a_literal(value: str) -> None:
    tree = exp.Literal.string(value)
    assert read(tree.sql(dialect="flink")).name == value


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("cast(a as timestamp(3) with local time zone)", "CAST(a AS TIMESTAMP_LTZ(3))"),
        ("CAST(a AS ROW<x INT, y ARRAY<STRING NOT NULL>>)", "CAST(a AS ROW<x INT, y ARRAY<STRING NOT NULL>>)"),
        ("CAST(a AS DOUBLE PRECISION)", "CAST(a AS DOUBLE)"),
        ("interval '1 2:3' day to minute", "INTERVAL '1 2:3' DAY TO MINUTE"),
        ("ts - INTERVAL '5' MINUTES", "ts - INTERVAL '5' MINUTE"),
        ("ARRAY[1, 2][i]", "ARRAY[1, 2][i]"),
        ("MAP['a', 1].x", "MAP['a', 1].x"),
        ("row(1, 'a')", "ROW(1, 'a')"),
        ("trim(leading from s)", "TRIM(LEADING ' ' FROM s)"),
        ("trim(both s)", "TRIM(BOTH ' ' FROM s)"),
        ("case a when 1, 2 then b when 3 then c end", "CASE WHEN a IN (1, 2) THEN b WHEN a = 3 THEN c END"),
        ("TIMESTAMPADD(sql_tsi_day, 1, ts)", "TIMESTAMPADD(DAY, 1, ts)"),
        ("TIMESTAMPDIFF(SQL_TSI_FRAC_SECOND, a, b)", "TIMESTAMPDIFF(NANOSECOND, a, b)"),
        ("Overlay(a placing b from 1 for 2)", "OVERLAY(a PLACING b FROM 1 FOR 2)"),
        ("COUNT(DISTINCT a) FILTER (WHERE b)", "COUNT(DISTINCT a) FILTER(WHERE b)"),
        ("JSON_VALUE(s, '$' RETURNING INT NULL ON EMPTY)", "JSON_VALUE(s, '$' RETURNING INT NULL ON EMPTY)"),
        ("X'0aff'", "X'0aff'"),
        ("x''", "X''"),
        ("`select`.`group`", "`select`.`group`"),
    ],
)
def test_each_syntax_has_one_spelling(text: str, written: str) -> None:
    assert read(text).sql(dialect="flink") == written
    assert read(written) == read(text)


@pytest.mark.parametrize(
    "text",
    [
        "F(a, )", "F(, a)", "F(a", "ARRAY[1, ]", "CAST(a INT)", "CAST(a AS FOO)", "CAST(a AS INT", "TRIM(BOTH s, t)",
        "INTERVAL 5 DAY", "INTERVAL '5' FORTNIGHT", "a IS 5", "EXTRACT(YEAR, d)", "a::INT", "CASE WHEN a THEN b",
        "CASE WHEN a, b THEN c END", "CASE a WHEN b, THEN c END", "CASE a WHEN b END", "CASE a ELSE b END",
        "CASE a END", "JSON_OBJECT('a', 1)", "JSON_VALUE(a, '$' NULL ON)", "a IN (1, )",
    ],
)  # fmt: skip
def test_what_flink_does_not_write_is_refused(text: str) -> None:
    with pytest.raises((ParseError, ScriptError)):
        read(text)


@pytest.mark.parametrize("text", ["f(a, g( b ) )", "CAST(a AS INT )", "COUNT(*)", "ARRAY[1, 2]", "TRIM(a )"])
def test_a_call_ends_with_its_parenthesis(text: str) -> None:
    tree = read(f"{text} + 1").this
    assert text == f"{text} + 1"[tree.meta["start"] : tree.meta["end"] + 1]
