"""Flink's csv rules, one by one."""

from __future__ import annotations

import pickle
from typing import Final

import pyarrow as pa
import pytest
from hypothesis import assume, given

from millstream.formats.arrow_types import arrow_schema
from millstream.formats.csv_decode import CsvDecoder
from millstream.formats.csv_encode import CsvEncoder
from millstream.formats.csv_format import CsvOptions
from millstream.formats.decoded import DecodeError
from millstream.sql.types import INT, STRING, DataType, TypeRoot, decimal
from tests.unit.formats.random_rows import DATE, INTS, PAIR, SCALARS, TINYINT, comparable, tables

PLAIN: Final = CsvOptions()
TOO_MANY: Final = 'Too many entries: expected at most 2 (value #2 (0 chars) "")'
NO_SEPARATOR: Final = (
    "Unexpected character ('b' (code 98)): Expected column separator character (',' (code 44)) or end-of-line"
)
WORD_AND_NUMBER: Final = (("s", STRING), ("n", INT))


def read(message: str | None, *columns: tuple[str, DataType], options: CsvOptions = PLAIN) -> list[object]:
    messages = pa.array([None if message is None else message.encode()], pa.binary())
    return [list(row.values()) for row in CsvDecoder(columns, options).decode(messages).table.to_pylist()]


def encode_rows(
    rows: dict[str, list[object]], *columns: tuple[str, DataType], options: CsvOptions = PLAIN
) -> list[str]:
    arrays = [pa.array(rows[field.name], field.type) for field in arrow_schema(columns)]
    table = pa.Table.from_arrays(arrays, schema=arrow_schema(columns))
    return [message.decode() for message in CsvEncoder(columns, options).encode(table).to_pylist()]


@given(tables(SCALARS))
def test_what_is_written_is_read_again(rows: tuple[tuple[tuple[str, DataType], ...], pa.Table]) -> None:
    columns, table = rows
    options = CsvOptions(null_literal="\\N")
    messages = CsvEncoder(columns, options).encode(table)
    assume(all(messages.to_pylist()))  # an empty message is no line
    decoded = CsvDecoder(columns, options).decode(messages)
    assert comparable(decoded.table) == comparable(table)


@given(tables({"ar": INTS, "ro": PAIR, "st": STRING}))
def test_batch_and_exact_reader_agree_on_what_is_written(
    rows: tuple[tuple[tuple[str, DataType], ...], pa.Table],
) -> None:
    columns, table = rows
    options = CsvOptions(null_literal="~", ignore_parse_errors=True)
    messages = CsvEncoder(columns, options).encode(table)
    batch, exact = CsvDecoder(columns, options), CsvDecoder(columns, options)
    exact._exact_only = True
    assert comparable(batch.decode(messages).table) == comparable(exact.decode(messages).table)


@pytest.mark.parametrize(
    ("message", "options", "row"),
    [
        ("a,1,", CsvOptions(), ["a", 1]),
        ("a,1, ", CsvOptions(), ["a", 1]),
        ("a,1,x,y", CsvOptions(ignore_trailing_unmappable=True), ["a", 1]),
        ("a", CsvOptions(ignore_parse_errors=True), ["a", None]),
        ("a,x", CsvOptions(ignore_parse_errors=True), ["a", None]),
        ("a, 1 ", CsvOptions(), ["a", 1]),
        (' " a" , 1', CsvOptions(trim_spaces=True), [" a", 1]),
        ("  a b ,1", CsvOptions(trim_spaces=True), ["a b", 1]),
        (",1", CsvOptions(empty_string_as_null=True), [None, 1]),
        ('"null",null', CsvOptions(null_literal="null"), [None, None]),
        ("a\\,b,1", CsvOptions(escape="\\"), ["a,b", 1]),
        ('"a\\"b\\n",1', CsvOptions(escape="\\"), ['a"b\n', 1]),
        ("# no\n  a,1", CsvOptions(allow_comments=True), ["a", 1]),
        ("a,1\nb,2", CsvOptions(), ["a", 1]),
        ('"a,1', CsvOptions(quote=None), ['"a', 1]),
    ],
)
def test_each_option_of_reading(message: str, options: CsvOptions, row: list[object]) -> None:
    assert read(message, *WORD_AND_NUMBER, options=options) == [row]


@pytest.mark.parametrize(
    ("message", "options", "cause"),
    [
        ("a,1,,", CsvOptions(), TOO_MANY),
        ("a,1,", CsvOptions(allow_trailing_comma=False), TOO_MANY),
        ("a", CsvOptions(), "Row length mismatch. 2 fields expected but was 1."),
        ("a", CsvOptions(fail_on_missing_columns=True), "Not enough column values: expected 2, found 1"),
        ("", CsvOptions(), "No content to map due to end-of-input"),
        ("#a,1", CsvOptions(allow_comments=True), "No content to map due to end-of-input"),
        ("a,", CsvOptions(), 'Fail to deserialize at field: n. For input string: ""'),
        ('"a"b,1', CsvOptions(), NO_SEPARATOR),
        ("a\\", CsvOptions(escape="\\"), "Unexpected EOF in escaped character"),
    ],
)  # fmt: skip
def test_each_cause_of_failure(message: str, options: CsvOptions, cause: str) -> None:
    with pytest.raises(DecodeError) as caught:
        read(message, *WORD_AND_NUMBER, options=options)
    assert caught.value.text == f"Failed to deserialize CSV row '{message}'. {cause}"


def test_null_messages_have_no_row_and_broken_ones_can_be_skipped() -> None:
    messages = pa.array([None, b"a,1", b"", b'"', b"b,2"], pa.binary())
    decoded = CsvDecoder(WORD_AND_NUMBER, CsvOptions(ignore_parse_errors=True)).decode(messages)
    assert decoded.table.to_pylist() == [{"s": "a", "n": 1}, {"s": "b", "n": 2}]
    assert decoded.origin is not None
    assert (decoded.origin.to_pylist(), decoded.skipped) == ([1, 4], 2)


@pytest.mark.parametrize(
    ("text", "expected"), [("", []), (" ", []), ("1", [1]), ("1;2", [1, 2]), ("~", [None]), ("1;~", [1, None])]
)
def test_arrays(text: str, expected: list[object]) -> None:
    assert read(text + ",1", ("a", INTS), ("n", INT), options=CsvOptions(null_literal="~")) == [[expected, 1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", None), ("7;x", {"x": 7, "y": "x"}), ("7;x;z", {"x": 7, "y": "x"}), ("7;~", {"x": 7, "y": None})],
)
def test_rows(text: str, expected: object) -> None:
    assert read(text + ",1", ("r", PAIR), ("n", INT), options=CsvOptions(null_literal="~")) == [[expected, 1]]


def test_a_row_with_too_few_fields_fails() -> None:
    with pytest.raises(DecodeError, match=r"field: r\. Row length mismatch\. 2 fields expected but was 1"):
        read("7,1", ("r", PAIR), ("n", INT))


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (DATE, "2023-02-30", "2023-03-02"),
        (DATE, "2024-2-9", "2024-02-09"),
        (DataType(TypeRoot.TIME, precision=3), "07:08:09.789", "25689000"),
        (DataType(TypeRoot.TIME), "07:08", "25680000"),
        (decimal(4, 2), "1.005", "1.01"),
        (decimal(4, 2), "123.4", "None"),
        (SCALARS["bo"], " TRUE ", "True"),
        (SCALARS["bo"], "yes", "False"),
        (SCALARS["ts"], " 2024-01-02 03:04:05 ", "2024-01-02 03:04:05"),
        (SCALARS["by"], "AQI=", "b'\\x01\\x02'"),
    ],
)
def test_types(type_: DataType, text: str, value: str) -> None:
    assert str(read(text, ("c", type_))[0][0]) == value  # type: ignore[index]


def test_numbers_out_of_range_fail() -> None:
    with pytest.raises(DecodeError, match=r'Value out of range\. Value:"128" Radix:10'):
        read("128", ("c", TINYINT))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (CsvOptions(), '"a\\b"'),
        (CsvOptions(escape="\\"), '"a\\\\b"'),
        (CsvOptions(quote=None), "a\\b"),
        (CsvOptions(delimiter="§"), '"a\\b"'),
    ],
)
def test_a_backslash_is_quoted_and_doubled_where_it_is_the_escape(options: CsvOptions, text: str) -> None:
    assert encode_rows({"s": ["a\\b"]}, ("s", STRING), options=options) == [text]


def test_length_is_counted_as_java_counts_it() -> None:
    twelve, thirteen = "😀" * 12, "😀" * 13
    assert encode_rows({"s": [twelve, thirteen, None]}, ("s", STRING)) == [twelve, f'"{thirteen}"', ""]


def test_scientific_decimals() -> None:
    options = CsvOptions(scientific_decimals=True)
    assert encode_rows({"d": [100, 50, 1]}, ("d", decimal(10, 3)), options=options) == ["1E+2", "5E+1", "1"]


def test_only_needed_columns_are_read_and_the_decoder_travels() -> None:
    decoder = pickle.loads(pickle.dumps(CsvDecoder(WORD_AND_NUMBER, CsvOptions(), ("n",))))
    assert decoder.decode(pa.array([b"a,1", b'"b",2'], pa.binary())).table.to_pydict() == {"n": [1, 2]}
    nothing = CsvDecoder(WORD_AND_NUMBER, CsvOptions(), ()).decode(pa.array([b"a,1", b"b,2"], pa.binary()))
    assert (nothing.table.num_rows, nothing.table.num_columns) == (2, 0)
