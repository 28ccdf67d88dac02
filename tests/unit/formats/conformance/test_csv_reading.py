"""CSV fields as Flink reads them, by CsvToRowDataConverters of release 2.2.0 and the rules of Jackson's CSV parser."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import pytest

from tests.unit.formats.conformance.reading import SKIPPED, Fails, check_read, parse_columns, plain
from tests.unit.formats.flink_goldens import bind_format


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


FAILS: Final = Fails("Fail to deserialize at field: v.")
CASES: Final[dict[str, tuple[tuple[str, Any], ...]]] = {
    "BOOLEAN": (("true", True), (" TRUE ", True), ("1", False), ("", False)),
    "TINYINT": (("127", 127), (" 7 ", 7), ("128", FAILS), ("7.0", FAILS), ("", Fails('For input string: ""'))),
    "SMALLINT": (("-32768", -32768), ("32768", FAILS)),
    "INT": (("2147483647", 2**31 - 1), ("+7", 7), ("2147483648", FAILS), ("1e3", FAILS), ('"7"', 7)),
    "BIGINT": (("9223372036854775807", 2**63 - 1), ("9223372036854775808", FAILS)),
    "FLOAT": (("1.5", 1.5), (" 1e39 ", float("inf")), ("NaN", float("nan")), ("x", FAILS)),
    "DOUBLE": ((".5", 0.5), ("1E400", float("inf")), ("-Infinity", -float("inf")), ("", FAILS)),
    "DECIMAL(5, 2)": (
        ("1.005", Decimal("1.01")), ("999.995", None), ("1E2", Decimal("100.00")), (" 1.5", FAILS), ("", FAILS),
    ),
    "STRING": (
        ("", ""), (" a ", " a "), ('"a,b"', "a,b"), ('"a""b"', 'a"b'), ("null", "null"), ('a"b', 'a"b'), ("\\", "\\"),
        ('"a"b', Fails("Expected column separator character")), ('"a', Fails("Missing closing quote for value")),
    ),
    "BYTES": (("AQI=", b"\x01\x02"), ("", b""), ("AQI", Fails("Unable to deserialize byte array."))),
    "DATE": (
        ("2024-02-29", date(2024, 2, 29)), ("2023-02-29", date(2023, 3, 1)), ("2024-2-9", date(2024, 2, 9)),
        ("2024-13-01", FAILS), ("20240229", FAILS), ("", FAILS),
    ),
    "TIME(3)": (
        ("07:08:09.987", 25_689_000), ("07:08", 25_680_000), ("24:00:00", FAILS), ("7:08:09", FAILS),
        (" 07:08:09", FAILS),
    ),
    "TIMESTAMP(3)": (
        ("2024-05-06 07:08:09.1", moment("2024-05-06 07:08:09.1")),
        (" 2024-05-06 07:08:09 ", moment("2024-05-06 07:08:09")),
        ("2024-02-30 24:00:00", moment("2024-03-01")), ("2024-05-06T07:08:09", FAILS), ("2024-05-06", FAILS),
    ),
    "TIMESTAMP_LTZ(3)": (
        ("2024-05-06 07:08:09.1Z", datetime(2024, 5, 6, 7, 8, 9, 100_000, UTC)), ("2024-05-06 07:08:09", FAILS),
    ),
    "ARRAY<INT>": (("1;2", [1, 2]), ("7", [7]), ("", []), (" ", []), ("1;x", FAILS), ("1;", FAILS)),
    "ARRAY<STRING>": (("a;;b ", ["a", "", "b "]), ('"a;b,c"', ["a", "b,c"])),
    "ROW<x BIGINT, y STRING>": (
        ("1;a", {"x": 1, "y": "a"}), ("1;", {"x": 1, "y": ""}), ("", None), ("1;a;z", {"x": 1, "y": "a"}),
        ("1", Fails("Row length mismatch. 2 fields expected but was 1.")), ("x;a", FAILS),
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [pytest.param(type_, *case, id=f"{type_} {case[0]}") for type_, cases in CASES.items() for case in cases],
)
def test_fields(type_: str, text: str, expected: Any) -> None:
    columns = parse_columns(f"v {type_}, n INT")
    rows = expected if isinstance(expected, Fails) else [["+I", plain(expected, columns[0][1]), 1]]
    ordinary = CASES[type_][0][0]
    check_read(bind_format("csv", {}), columns, f"{text},1".encode(), rows, f"{ordinary},2".encode())


def opt(**options: str) -> dict[str, str]:
    return {f"csv.{name.replace('_', '-')}": value for name, value in options.items()}


LENIENT: Final = opt(ignore_parse_errors="true")
TOO_MANY: Final = Fails("Too many entries: expected at most 2")
END: Final = Fails("No content to map due to end-of-input")


@pytest.mark.parametrize(
    ("options", "message", "expected"),
    [
        (opt(field_delimiter=";"), "a;1", ["a", 1]),
        (opt(field_delimiter="\\t"), "a\t1", ["a", 1]),
        (opt(field_delimiter="\\u0001"), "a\x011", ["a", 1]),
        (opt(quote_character="'"), "'a,b',1", ["a,b", 1]),
        (opt(quote_character="'"), '"a",1', ['"a"', 1]),
        (opt(disable_quote_character="true"), '"a,1', ['"a', 1]),
        (opt(allow_comments="true"), "#a,1", END),
        (opt(allow_comments="true", ignore_parse_errors="true"), "#a,1", SKIPPED),
        (opt(allow_comments="true"), "# no\na,1", ["a", 1]),
        ({}, "#a,1", ["#a", 1]),
        (opt(escape_character="\\"), "a\\,b,1", ["a,b", 1]),
        (opt(escape_character="\\"), '"a\\"b\\n",1', ['a"b\n', 1]),
        (opt(null_literal="null"), "null,null", [None, None]),
        (opt(null_literal="null"), '"null",1', [None, 1]),
        (opt(null_literal=""), ",", [None, None]),
        (LENIENT, "a,x", ["a", None]),
        (LENIENT, "a", ["a", None]),
        (LENIENT, "a,1,2", SKIPPED),
        (LENIENT, '"a,1', SKIPPED),
        ({}, "a", Fails("Row length mismatch. 2 fields expected but was 1.")),
        ({}, "a,1,2", TOO_MANY),
        ({}, "a,1,", ["a", 1]),
        ({}, "", END),
        ({}, "a,1\r\nb,2", ["a", 1]),
        (opt(allow_trailing_comma="false"), "a,1,", TOO_MANY),
        (opt(ignore_trailing_unmappable="true"), "a,1,2,3", ["a", 1]),
        (opt(trim_spaces="true"), "  a , 1 ", ["a", 1]),
        (opt(fail_on_missing_columns="true"), "a", Fails("Not enough column values: expected 2, found 1")),
        (opt(empty_string_as_null="true"), ",", [None, None]),
    ],
)
def test_options(options: dict[str, str], message: str, expected: Any) -> None:
    columns = parse_columns("w STRING, n INT")
    ordinary = f"o{options.get('csv.field-delimiter', ',')}1".replace("\\t", "\t").replace("\\u0001", "\x01")
    rows = expected if isinstance(expected, Fails) else [["+I", *expected]]
    check_read(bind_format("csv", options), columns, message.encode(), rows, ordinary.encode())


def test_elements_have_their_own_delimiter() -> None:
    columns = parse_columns("v ARRAY<INT>, r ROW<x INT, y STRING>")
    expected = [["+I", [1, 2], {"x": 3, "y": "a;b"}]]
    format_ = bind_format("csv", opt(array_element_delimiter="|"))
    check_read(format_, columns, b"1|2,3|a;b", expected, b"1,2|x")
