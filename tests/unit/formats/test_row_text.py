"""Rows as text: the lines of a print table and the table of a SELECT."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.display_width import display_width
from millstream.formats.row_text import JAVA, column_texts, row_lines
from millstream.formats.table_text import cells_of, columns_of, printable, shorten, table_lines

MICROS = pa.timestamp("us")
INSTANT = pa.timestamp("us", tz="UTC")


def at(*parts: int) -> dt.datetime:
    return dt.datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (None, pa.int32(), "null"),
        (True, pa.bool_(), "true"),
        (-7, pa.int8(), "-7"),
        (1.0, pa.float64(), "1.0"),
        (1e7, pa.float64(), "1.0E7"),
        (0.1, pa.float32(), "0.1"),
        (Decimal("11.1100"), pa.decimal128(10, 4), "11.1100"),
        (Decimal("0.0000001"), pa.decimal128(10, 7), "1E-7"),
        ("a, b", pa.string(), "a, b"),
        ("", pa.string(), ""),
        (b"\x00\x7f\x80\xff", pa.binary(), "[0, 127, -128, -1]"),
        (dt.date(2020, 10, 1), pa.date32(), "2020-10-01"),
        (dt.time(0, 1), pa.time64("us"), "00:01"),
        (dt.time(0, 1, 2, 3000), pa.time64("us"), "00:01:02.003"),
        (at(2020, 10, 1, 0, 1), MICROS, "2020-10-01T00:01"),
        (at(2020, 10, 1, 0, 1, 2), MICROS, "2020-10-01T00:01:02"),
        (at(2020, 10, 1, 0, 1, 0, 100_000), MICROS, "2020-10-01T00:01:00.100"),
        (at(2020, 10, 1, 0, 1, 0, 1), MICROS, "2020-10-01T00:01:00.000001"),
        (at(2020, 10, 1, 0, 1), INSTANT, "2020-10-01T00:01:00Z"),
        (at(1969, 12, 31, 23, 59, 59, 500_000), INSTANT, "1969-12-31T23:59:59.500Z"),
        (dt.timedelta(days=1, hours=2, seconds=4), pa.duration("us"), "PT26H4S"),
        (dt.timedelta(milliseconds=-1500), pa.duration("us"), "PT-1.5S"),
        (dt.timedelta(0), pa.duration("us"), "PT0S"),
        ([1, None], pa.list_(pa.int32()), "[1, null]"),
        ([], pa.list_(pa.int32()), "[]"),
        ([("a", 1), ("b", None)], pa.map_(pa.string(), pa.int32()), "{a=1, b=null}"),
        ({"a": 1, "b": None}, pa.struct([("a", pa.int32()), ("b", pa.string())]), "+I[1, null]"),
        ([{"a": [b"\x01"]}], pa.list_(pa.struct([("a", pa.list_(pa.binary()))])), "[+I[[[1]]]]"),
    ],
)
def test_a_value_as_java_prints_it(value: Any, type_: pa.DataType, text: str) -> None:
    assert row_lines(pa.table({"x": pa.array([value], type_)})) == [f"+I[{text}]"]


def test_years_beyond_those_of_python_are_printed() -> None:
    micros = pa.array([253_402_300_800_000_000], pa.int64()).cast(MICROS)
    assert row_lines(pa.table({"x": micros})) == ["+I[+10000-01-01T00:00]"]


def test_lines_tell_what_rows_do() -> None:
    rows = pa.table({"id": [1, 1, 1, 2], "name": ["a", "a", None, "b"]})
    assert row_lines(rows, [0, 1, 2, 3], "x> ") == ["x> +I[1, a]", "x> -U[1, a]", "x> +U[1, null]", "x> -D[2, b]"]


NESTED = pa.struct(
    [("list", pa.list_(pa.int32())), ("map", pa.map_(pa.string(), pa.list_(pa.string()))), ("text", pa.string())]
)
VALUES = st.none() | st.fixed_dictionaries(
    {
        "list": st.none() | st.lists(st.none() | st.integers(-9, 9), max_size=3),
        "map": st.none() | st.dictionaries(st.sampled_from("ab"), st.lists(st.sampled_from("xy"), max_size=2)),
        "text": st.none() | st.sampled_from(["p", "q"]),
    }
)


@given(st.lists(VALUES, max_size=8), st.integers(0, 3), st.integers(0, 8))
def test_a_slice_has_the_texts_of_its_values(values: list[Any], start: int, length: int) -> None:
    array = pa.array(
        [None if v is None else {**v, "map": None if v["map"] is None else list(v["map"].items())} for v in values],
        NESTED,
    )
    alone = [text for value in array for text in column_texts(pa.array([value.as_py()], NESTED), JAVA)]
    assert column_texts(array.slice(start, length), JAVA) == alone[start : start + length]


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (None, pa.int32(), "<NULL>"),
        (True, pa.bool_(), "TRUE"),
        (1e7, pa.float64(), "1.0E7"),
        (Decimal("0.0000001"), pa.decimal128(10, 7), "0.0000001"),
        (b"abc", pa.binary(), "x'616263'"),
        (dt.date(2020, 10, 1), pa.date32(), "2020-10-01"),
        (dt.time(0, 1), pa.time32("ms"), "00:01:00"),
        (dt.time(0, 1, 2, 3000), pa.time32("ms"), "00:01:02"),
        (at(2024, 5, 17, 13), MICROS, "2024-05-17 13:00:00.000"),
        (at(2024, 5, 17, 13, 0, 0, 1), MICROS, "2024-05-17 13:00:00.000001"),
        (at(2024, 5, 17, 13), INSTANT, "2024-05-17 13:00:00.000"),
        (at(2024, 5, 17, 13), pa.timestamp("us", tz="Asia/Tokyo"), "2024-05-17 22:00:00.000"),
        (dt.timedelta(days=1, hours=2, minutes=3, seconds=4), pa.duration("us"), "+1 02:03:04.000"),
        (dt.timedelta(seconds=-1), pa.duration("us"), "-0 00:00:01.000"),
        ([1, None], pa.list_(pa.int32()), "[1, NULL]"),
        ([("a", True)], pa.map_(pa.string(), pa.bool_()), "{a=TRUE}"),
        ({"a": 1, "b": "a"}, pa.struct([("a", pa.int32()), ("b", pa.string())]), "(1, a)"),
    ],
)
def test_a_value_as_the_table_of_a_select_shows_it(value: Any, type_: pa.DataType, text: str) -> None:
    assert cells_of(pa.table({"x": pa.array([value], type_)})) == [(text,)]


def test_a_table_is_aligned_by_what_a_terminal_shows() -> None:
    rows = pa.table({"id": [1, 20], "name": ["日本", None], "note": ["a\nb", "e\u0301"]})
    assert table_lines(rows, [0, 3]) == [
        "+----+----+--------+------+",
        "| op | id | name   | note |",
        "+----+----+--------+------+",
        "| +I |  1 | 日本   | a\\nb |",
        "| -D | 20 | <NULL> | e\u0301    |",
        "+----+----+--------+------+",
    ]


def test_a_table_without_kinds_or_rows_has_its_header() -> None:
    assert table_lines(pa.table({"id": pa.array([], pa.int32())})) == ["+----+", "| id |", "+----+"]


def test_wide_values_are_shortened_to_the_width() -> None:
    assert shorten("日本語", 4) == "日…"
    assert table_lines(pa.table({"x": ["abcdef"]}), max_width=4)[3] == "| abc… |"


@given(st.lists(st.text(max_size=12), min_size=1, max_size=6), st.integers(1, 10))
def test_all_lines_of_a_table_are_equally_wide(values: list[str], max_width: int) -> None:
    rows = pa.table({"text": values})
    cells = cells_of(rows)
    [column] = columns_of(rows, cells, with_kinds=False, max_width=max_width)
    assert column.width <= max_width
    assert {display_width(line) for line in table_lines(rows, max_width=max_width)} == {column.width + 4}
    assert all("\n" not in printable(value) for value in values)
