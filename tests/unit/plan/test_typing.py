"""Every expression has a type before Spark sees it, or a diagnostic that says why not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.errors import Code, ScriptError
from millstream.plan.resolver.scope import Scope
from tests.unit.plan.expressions import bind, problems, read, scope, type_of

COLUMNS = {
    "a": "BIGINT", "i": "INT", "f": "FLOAT", "d": "DOUBLE", "s": "STRING", "n": "DECIMAL(10, 2)", "b": "BOOLEAN",
    "day": "DATE", "ts": "TIMESTAMP(3)", "xs": "ARRAY<INT>", "m": "MAP<STRING, INT>",
    "r": "ROW<x INT, y ROW<z STRING>>",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i + i", "INT"),
        ("i + a", "BIGINT"),
        ("i + f", "FLOAT"),
        ("n + f", "DOUBLE"),
        ("i / i", "INT"),
        ("a % i", "INT"),
        ("n + i", "DECIMAL(13, 2)"),
        ("n * n", "DECIMAL(21, 4)"),
        ("n / i", "DECIMAL(21, 13)"),
        ("n % 3", "DECIMAL(10, 2)"),
        ("CAST(n AS DECIMAL(38, 10)) * CAST(n AS DECIMAL(38, 10))", "DECIMAL(38, 6)"),
        ("-n", "DECIMAL(10, 2)"),
        ("ROUND(n, 1)", "DECIMAL(10, 1)"),
        ("ROUND(n, -1)", "DECIMAL(9, 0)"),
        ("FLOOR(n)", "DECIMAL(10, 0)"),
        ("1.50", "DECIMAL(3, 2) NOT NULL"),
        ("0.5", "DECIMAL(1, 1) NOT NULL"),
        ("99999999999", "BIGINT NOT NULL"),
        ("1E3", "DOUBLE NOT NULL"),
        ("NULL", "NULL"),
        ("CASE WHEN b THEN i ELSE n END", "DECIMAL(12, 2)"),
        ("COALESCE(s, 'x')", "STRING"),
        ("IF(b, 'a', 'bcd')", "VARCHAR(3)"),
        ("COALESCE(day, ts)", "TIMESTAMP(3)"),
        ("xs[1]", "INT"),
        ("m['k']", "INT"),
        ("r.x", "INT"),
        ("t.r.y.z", "STRING"),
        ("r['x']", "INT"),
        ("r['y']['z']", "STRING"),
        ("r.y['z']", "STRING"),
        ("r['y'].z", "STRING"),
        ("t.r[1]", "INT"),
        ("X''", "BINARY(0) NOT NULL"),
        ("TRIM(BOTH ' x ')", "VARCHAR(3) NOT NULL"),
        ("TRIM(LEADING s)", "STRING"),
        ("s < i", "BOOLEAN"),
        ("'5' < 6", "BOOLEAN NOT NULL"),
        ("s BETWEEN i AND n", "BOOLEAN"),
        ("s IN (1, 2)", "BOOLEAN"),
        ("i IN ('1', '2')", "BOOLEAN"),
        ("m = m", "BOOLEAN"),
        ("CASE s WHEN 1, 2 THEN 'a' ELSE 'b' END", "CHAR(1)"),
        ("TIMESTAMPADD(YEAR, 1, TIME '10:00:00')", "TIME(0) NOT NULL"),
        ("TIMESTAMPDIFF(SECOND, TIME '10:00:00', TIME '10:00:01')", "INT NOT NULL"),
        ("TIMESTAMPDIFF(SQL_TSI_FRAC_SECOND, ts, ts)", "BIGINT"),
        ("RAND(i)", "DOUBLE"),
        ("RAND()", "DOUBLE NOT NULL"),
        ("ARRAY[1, a]", "ARRAY<BIGINT> NOT NULL"),
        ("MAP['k', n]", "MAP<CHAR(1) NOT NULL, DECIMAL(10, 2)> NOT NULL"),
        ("ts + INTERVAL '1' DAY", "TIMESTAMP(3)"),
        ("day + INTERVAL '1' MONTH", "DATE"),
        ("day + INTERVAL '1' HOUR", "TIMESTAMP(6)"),
        ("INTERVAL '1' DAY * 2", "INTERVAL DAY TO SECOND NOT NULL"),
        ("TIMESTAMPDIFF(DAY, day, ts)", "INT"),
        ("EXTRACT(YEAR FROM ts)", "BIGINT"),
        ("TO_TIMESTAMP(s)", "TIMESTAMP(3)"),
        ("TO_TIMESTAMP_LTZ(a, 6)", "TIMESTAMP_LTZ(6)"),
        ("CURRENT_TIMESTAMP", "TIMESTAMP_LTZ(3) NOT NULL"),
        ("a IS NULL", "BOOLEAN NOT NULL"),
        ("MD5(s)", "CHAR(32)"),
        ("TRY_CAST(s AS INT)", "INT"),
        ("JSON_VALUE(s, '$.x' RETURNING DOUBLE)", "DOUBLE"),
        ("SUBSTRING('abc' FROM 2)", "VARCHAR(3)"),
    ],
)
def test_types_are_those_of_flink(text: str, expected: str) -> None:
    assert type_of(text, COLUMNS) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("COUNT(*)", "BIGINT NOT NULL"),
        ("COUNT(DISTINCT s)", "BIGINT NOT NULL"),
        ("SUM(i)", "INT"),
        ("SUM(n) FILTER (WHERE b)", "DECIMAL(38, 2)"),
        ("AVG(i)", "INT"),
        ("AVG(n)", "DECIMAL(38, 6)"),
        ("STDDEV_POP(d)", "DOUBLE"),
        ("MAX(ts)", "TIMESTAMP(3)"),
        ("LISTAGG(s, '-')", "STRING"),
        ("COLLECT(i)", "MULTISET<INT NOT NULL>"),
        ("ARRAY_AGG(s IGNORE NULLS)", "ARRAY<STRING>"),
        ("FIRST_VALUE(day)", "DATE"),
        ("PERCENTILE(i, 0.5)", "DOUBLE"),
    ],
)
def test_aggregates_have_the_types_of_flink(text: str, expected: str) -> None:
    assert type_of(text, COLUMNS, aggregates=True) == expected


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("PERCENTILE(i, 1.5)", "1.5"),
        ("PERCENTILE(i, d)", "d"),
        ("PERCENTILE(i, ARRAY[0.5])", "ARRAY[0.5]"),
        ("PERCENTILE(i, 0.5, 2)", "PERCENTILE(i, 0.5, 2)"),
        ("PERCENTILE(s, 0.5)", "s"),
    ],
)
def test_a_percentile_takes_one_percentage(text: str, marked: str) -> None:
    [problem] = problems(text, COLUMNS, aggregates=True)
    assert problem.code is Code.TYPE_MISMATCH
    assert problem.span is not None
    assert problem.span.source.text[problem.span.start : problem.span.end] == marked


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [
        ("UPPR(s)", Code.UNDEFINED_FUNCTION, "UPPR(s)"),
        ("SUBSTRING(s)", Code.TYPE_MISMATCH, "SUBSTRING(s)"),
        ("SUBSTRING(i, 2)", Code.TYPE_MISMATCH, "i"),
        ("UPPER(s) + LOWER(s)", Code.TYPE_MISMATCH, "UPPER(s) + LOWER(s)"),
        ("s = i", Code.TYPE_MISMATCH, "s = i"),
        ("s <> i", Code.TYPE_MISMATCH, "s <> i"),
        ("s IS DISTINCT FROM i", Code.TYPE_MISMATCH, "s IS DISTINCT FROM i"),
        ("i IN ('1', 2)", Code.TYPE_MISMATCH, "i IN ('1', 2"),
        ("CASE s WHEN 1 THEN 2 END", Code.TYPE_MISMATCH, "s WHEN 1"),
        ("m < m", Code.TYPE_MISMATCH, "m"),
        ("ARRAY[m] < ARRAY[m]", Code.TYPE_MISMATCH, "ARRAY[m] < ARRAY[m]"),
        ("GREATEST(m, m)", Code.TYPE_MISMATCH, "GREATEST(m, m)"),
        ("r['q']", Code.UNDEFINED_COLUMN, "r['q'"),
        ("r['X']", Code.UNDEFINED_COLUMN, "r['X'"),
        ("r[0]", Code.UNDEFINED_COLUMN, "0"),
        ("r[3]", Code.UNDEFINED_COLUMN, "3"),
        ("r[s]", Code.TYPE_MISMATCH, "s"),
        ("r[TRUE]", Code.TYPE_MISMATCH, "r"),
        ("TIMESTAMPADD(SQL_TSI_FRAC_SECOND, 1, ts)", Code.TYPE_MISMATCH, "TIMESTAMPADD(SQL_TSI_FRAC_SECOND, 1, ts)"),
        ("EXTRACT(SQL_TSI_DAY FROM ts)", Code.TYPE_MISMATCH, "EXTRACT(SQL_TSI_DAY FROM ts)"),
        (
            "TIMESTAMPDIFF(DAY, TIME '10:00:00', TIME '11:00:00')",
            Code.TYPE_MISMATCH,
            "TIMESTAMPDIFF(DAY, TIME '10:00:00', TIME '11:00:00')",
        ),
        ("RAND(s)", Code.TYPE_MISMATCH, "s"),
        ("xs > 1", Code.TYPE_MISMATCH, "xs > 1"),
        ("NOT i", Code.TYPE_MISMATCH, "i"),
        ("i AND b", Code.TYPE_MISMATCH, "i"),
        ("CASE WHEN i THEN 1 END", Code.TYPE_MISMATCH, "i"),
        ("CASE WHEN b THEN 1 ELSE 'x' END", Code.TYPE_MISMATCH, "'x'"),
        ("CAST(day AS INT)", Code.TYPE_MISMATCH, "CAST(day AS INT)"),
        ("CAST(i AS TIMESTAMP(3))", Code.TYPE_MISMATCH, "CAST(i AS TIMESTAMP(3))"),
        ("CAST(i AS TIME)", Code.TYPE_MISMATCH, "CAST(i AS TIME)"),
        ("JSON_OBJECT('t' VALUE ARRAY[TIME '07:08:09'])", Code.TYPE_MISMATCH, "ARRAY[TIME '07:08:09']"),
        ("TIME '24:00:00'", Code.TYPE_MISMATCH, "'24:00:00'"),
        ("EXTRACT(FORTNIGHT FROM ts)", Code.TYPE_MISMATCH, "EXTRACT(FORTNIGHT FROM ts)"),
        ("ROUND(d, i)", Code.TYPE_MISMATCH, "i"),
        ("s LIKE 'a#b' ESCAPE '#'", Code.TYPE_MISMATCH, "s LIKE 'a#b' ESCAPE '#'"),
        ("JSON_VALUE(s, '$.a[*]')", Code.TYPE_MISMATCH, "JSON_VALUE(s, '$.a[*]')"),
        ("JSON_EXISTS(s, '$' NULL ON ERROR)", Code.TYPE_MISMATCH, "JSON_EXISTS(s, '$' NULL ON ERROR)"),
        ("JSON_VALUE(s, '$' EMPTY ARRAY ON EMPTY)", Code.TYPE_MISMATCH, "JSON_VALUE(s, '$' EMPTY ARRAY ON EMPTY)"),
        ("PARSE_JSON(s)", Code.UNSUPPORTED_EXPRESSION, "PARSE_JSON(s)"),
        ("SUM(i)", Code.UNSUPPORTED_EXPRESSION, "SUM(i)"),
        ("ROW_NUMBER() OVER (ORDER BY a)", Code.UNSUPPORTED_EXPRESSION, "ROW_NUMBER() OVER (ORDER BY a"),
        ("i IN (SELECT 1)", Code.UNSUPPORTED_EXPRESSION, "i IN (SELECT 1"),
        ("r.q", Code.UNDEFINED_COLUMN, "r.q"),
        ("i.q", Code.TYPE_MISMATCH, "i.q"),
        ("z", Code.UNDEFINED_COLUMN, "z"),
        ("u.a", Code.UNDEFINED_TABLE, "u.a"),
        ("ts - ts", Code.TYPE_MISMATCH, "ts - ts"),
    ],
)
def test_what_does_not_fit_is_marked(text: str, code: Code, marked: str) -> None:
    [problem] = problems(text, COLUMNS)
    assert problem.code is code
    assert problem.span is not None
    assert problem.span.source.text[problem.span.start : problem.span.end] == marked


def test_all_problems_of_an_expression_are_reported_once() -> None:
    found = problems("UPPR(z) || SUBSTRING(i, 2) || REVERSE(i)", COLUMNS)
    assert [problem.code for problem in found] == [
        Code.UNDEFINED_COLUMN,
        Code.UNDEFINED_FUNCTION,
        Code.TYPE_MISMATCH,
        Code.TYPE_MISMATCH,
    ]


def test_signatures_and_near_names_are_shown() -> None:
    [wrong] = problems("LPAD(s, 5)", COLUMNS)
    assert wrong.detail == "Its signature is LPAD(text STRING, length INTEGER, pad STRING)."
    [undefined] = problems("SUBSTRNG(s, 1)", COLUMNS)
    assert undefined.hint is not None
    assert "SUBSTRING" in undefined.hint


def test_binding_leaves_bare_quoted_columns() -> None:
    assert bind("CONCAT(t.s, r.y.z)", COLUMNS).sql(dialect="flink") == "CONCAT(`s`, `r`.y.z)"


def test_columns_of_several_tables_are_told_apart() -> None:
    text = "a.id = b.id AND x > id"
    one, other = scope(text, {"id": "INT", "x": "INT"}), scope(text, {"id": "INT"})
    columns = [
        *(replace(column, qualifier="a") for column in one.columns),
        *(replace(column, qualifier="b", reference="id0") for column in other.columns),
    ]
    both = Scope(tuple(columns), one.script, one.statement)
    assert both.bind(read("a.id = b.id AND x > 1")).sql(dialect="flink") == "`id` = `id0` AND `x` > 1"
    with pytest.raises(ScriptError) as caught:
        both.bind(read(text))
    [problem] = caught.value.diagnostics
    assert problem.hint == "Write a.id."
