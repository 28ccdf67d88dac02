"""JSON values as Flink reads them: from a stream of tokens, and for changes from a tree.

By JsonParserToRowDataConverters and JsonToRowDataConverters of release 2.2.0; where the two differ, the tree's result
is told apart.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

import pytest

from tests.unit.formats.conformance.reading import SKIPPED, Fails, check_read, parse_columns, plain
from tests.unit.formats.flink_goldens import bind_format

FAILS: Final = Fails("Fail to deserialize at field: v.")
WRAPPED: Final = Fails("Fail to deserialize at field: data.")


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


CASES: Final[dict[str, tuple[tuple[Any, ...], ...]]] = {
    "BOOLEAN": (("true", True), ('"TRUE "', True), ('"yes"', False), ("1", False), ("[]", False), ("{}", False)),
    "TINYINT": (
        ("127", 127), ("128", FAILS), ('" 7 "', 7), ('"+7"', 7), ("1.0", FAILS), ('""', FAILS), ("true", FAILS),
        ("-0", 0),
    ),
    "SMALLINT": (("-32768", -32768), ("32768", FAILS), ("1e2", FAILS), ('"0x10"', FAILS)),
    "INT": (
        ("112.9", 112), ("-112.9", -112), ("1e3", 1000), ("2147483648", FAILS), ("11211111111.013", FAILS),
        ('"7.0"', FAILS), ('" 7"', 7), ("[7]", FAILS),
    ),
    "BIGINT": (
        ("1e3", 1000), ("9223372036854775808", FAILS), ('"9223372036854775807"', 2**63 - 1), ("1E400", FAILS),
    ),
    "FLOAT": (
        ("0.1", 0.10000000149011612), ('"1.5f"', 1.5), ("1e39", float("inf")), ('"NaN"', float("nan")),
        ('"-Infinity"', -float("inf")), ("true", FAILS), ("16777217", 16777216.0),
    ),
    "DOUBLE": (
        ("1", 1.0), ("1E400", float("inf")), ('" 1.5d "', 1.5), ('".5"', 0.5), ('"5."', 5.0), ('"1_0"', FAILS),
        ('"infinity"', FAILS),
    ),
    "DECIMAL(5, 2)": (
        ("1.005", Decimal("1.01")), ("-1.005", Decimal("-1.01")), ("999.994", Decimal("999.99")), ("999.995", None),
        ("1E2", Decimal("100.00")), ('"1.5"', Decimal("1.50")), ('" 1.5 "', Decimal("1.50"), WRAPPED),
        ("true", FAILS), ('""', FAILS), ("0e9", Decimal("0.00")),
    ),
    "STRING": (
        ('"a"', "a"), ("1.50", "1.50", "1.5"), ("-0", "-0", "0"), ("1E2", "1E2", "100.0"), ("true", "true"),
        ('{"b" : [1, null]}', '{"b":[1,null]}'), ("[ ]", "[]"), ('"\\u0000"', "\0"), ('"tab\t"', "tab\t"),
    ),
    "CHAR(2)": (('"abc"', "abc"), ('"a"', "a")),
    "BYTES": (
        ('"AQI="', b"\x01\x02"), ('"AQI"', FAILS), ('"-_=="', FAILS), ('" AQ==\\n"', b"\x01"),
        ('"A Q=="', FAILS), ("7", FAILS, None), ("true", FAILS, None), ("[]", FAILS, None),
    ),
    "DATE": (
        ('"2024-02-29"', date(2024, 2, 29)), ('"2023-02-29"', FAILS), ('"20240229"', FAILS), ('"2024-2-9"', FAILS),
        ('"2024-02-29 "', FAILS), ("7", FAILS), ('"+12024-01-01"', 3_672_148),
    ),
    "TIME(3)": (
        ('"07:08:09"', 25_689_000), ('"07:08:09.987"', 25_689_000), ('"24:00:00"', 0), ('"07:08"', FAILS),
        ('"18:00:243"', FAILS), ('"7:08:09"', FAILS), ('"07:08:09Z"', FAILS), ("25689000", FAILS),
    ),
    "TIMESTAMP(3)": (
        ('"2024-05-06 07:08:09"', moment("2024-05-06 07:08:09")),
        ('"2024-05-06 07:08:09.123456789"', moment("2024-05-06 07:08:09.123456")),
        ('"2024-02-30 24:00:00"', moment("2024-03-01")), ('"2024-05-06T07:08:09"', FAILS),
        ('"2024-05-06 07:08:09Z"', FAILS), ('"2024-05-06 07:08"', FAILS), ('"2024-05-06"', FAILS), ("0", FAILS),
    ),
    "TIMESTAMP_LTZ(3)": (
        ('"2024-05-06 07:08:09.1Z"', datetime(2024, 5, 6, 7, 8, 9, 100_000, UTC)),
        ('"2024-05-06 07:08:09"', FAILS), ('"2024-05-06 07:08:09+08:00"', FAILS), ('"2024-05-06T07:08:09Z"', FAILS),
    ),
    "INTERVAL YEAR TO MONTH": (("14", 14), ('"14"', 14), ('"1-2"', FAILS)),
    "ARRAY<INT>": (
        ('[1,"2",null,3.9]', [1, 2, None, 3]), ("[]", []), ("7", FAILS), ('{"a":1}', FAILS), ("[[1]]", FAILS),
    ),
    "MAP<STRING, INT>": (
        ('{"a":1,"b":null,"a":"3"}', [("a", 3), ("b", None)]), ("{}", []), ("[]", FAILS, []), ('"x"', FAILS, []),
        ('{"a":"x"}', FAILS),
    ),
    "MULTISET<STRING>": (('{"a":2}', [("a", 2)]), ('{"a":true}', FAILS)),
    "ROW<x BIGINT, y STRING>": (
        ('{"y":"q"}', {"x": None, "y": "q"}), ("{}", {"x": None, "y": None}), ("[]", FAILS), ('{"x":"q"}', FAILS),
        ('{"x":1,"z":{"x":2},"y":[]}', {"x": 1, "y": "[]"}),
    ),
}  # fmt: skip
ORDINARY: Final = '{"v":null}'
CANAL: Final = '{"data":[ROW],"type":"INSERT"}'

READ: Final = [pytest.param(type_, *case, id=f"{type_} {case[0]}") for type_, cases in CASES.items() for case in cases]
WITH_TREES: Final = [
    pytest.param(type_, text, (*trees, streamed)[0], id=f"{type_} {text}")
    for type_, cases in CASES.items()
    for text, streamed, *trees in cases
]


def expectation(value: Any, type_: str) -> Any:
    if isinstance(value, Fails):
        return value
    [(_, column_type)] = parse_columns(f"v {type_}")
    return [["+I", plain(value, column_type)]]


@pytest.mark.parametrize(("type_", "text", "streamed"), [pytest.param(*p.values[:3], id=p.id) for p in READ])
def test_a_stream_of_tokens(type_: str, text: str, streamed: Any) -> None:
    columns = parse_columns(f"v {type_}")
    message = f'{{"v":{text}}}'.encode()
    check_read(bind_format("json", {}), columns, message, expectation(streamed, type_), ORDINARY.encode())
    lenient = [["+I", None]] if isinstance(streamed, Fails) else expectation(streamed, type_)
    if text not in ("[[1]]", '{"a":"x"}', '{"a":true}', '{"x":"q"}'):  # there the part alone becomes NULL
        check_read(
            bind_format("json", {"json.ignore-parse-errors": "true"}), columns, message, lenient, ORDINARY.encode()
        )


@pytest.mark.parametrize(("type_", "text", "read"), WITH_TREES)
def test_a_tree(type_: str, text: str, read: Any) -> None:
    columns = parse_columns(f"v {type_}")
    message = CANAL.replace("ROW", f'{{"v":{text}}}').encode()
    expected = WRAPPED if isinstance(read, Fails) else expectation(read, type_)
    check_read(bind_format("canal-json", {}), columns, message, expected, CANAL.replace("ROW", ORDINARY).encode())


ISO: Final = {"json.timestamp-format.standard": "ISO-8601"}
LENIENT: Final = {"json.ignore-parse-errors": "true"}
COMPLETE: Final = {"json.fail-on-missing-field": "true"}


@pytest.mark.parametrize(
    ("declared", "options", "message", "expected"),
    [
        ("v TIMESTAMP(3)", ISO, '{"v":"2024-05-06T07:08:09.1"}', [["+I", moment("2024-05-06 07:08:09.1")]]),
        ("v TIMESTAMP(3)", ISO, '{"v":"2024-05-06t07:08"}', [["+I", moment("2024-05-06 07:08")]]),
        ("v TIMESTAMP(3)", ISO, '{"v":"2024-05-06 07:08:09"}', FAILS),
        ("v TIMESTAMP(3)", ISO, '{"v":"2024-05-06T07:08:09Z"}', FAILS),
        ("v TIMESTAMP_LTZ(3)", ISO, '{"v":"2024-05-06T07:08:09Z"}', [["+I", datetime(2024, 5, 6, 7, 8, 9, 0, UTC)]]),
        ("v TIMESTAMP_LTZ(3)", ISO, '{"v":"2024-05-06T07:08:09"}', FAILS),
        ("v INT, w INT", COMPLETE, '{"v":1}', Fails("Some field is missing in the JSON data.")),
        ("v INT, w INT", COMPLETE, '{"v":1,"w":null}', [["+I", 1, None]]),
        ("v INT, w INT", {}, '{"w":2}', [["+I", None, 2]]),
        ("v INT, w INT", {}, '{"V":1,"w":2,"x":[{"v":9}]}', [["+I", None, 2]]),
        ("v INT, w INT", {}, '[{"v":1},{"w":2}]', [["+I", 1, None], ["+I", None, 2]]),
        ("v INT, w INT", {}, "[]", []),
        ("v INT, w INT", {}, "7", Fails("No content to map due to end-of-input")),
        ("v INT, w INT", {}, '{"v":1', Fails("Failed to deserialize JSON '{\"v\":1'.")),
        ("v INT, w INT", LENIENT, '{"v":1', SKIPPED),
        ("v INT, w INT", LENIENT, "7", SKIPPED),
        ("v INT, w INT", LENIENT, '{"v":"x","w":2}', [["+I", None, 2]]),
        ("v ARRAY<INT>", LENIENT, '{"v":[1,"x"]}', [["+I", [1, None]]]),
        ("v MAP<STRING, INT>", LENIENT, '{"v":{"a":"x","b":2}}', [["+I", [("a", None), ("b", 2)]]]),
        ("v ROW<x INT, y INT>", LENIENT, '{"v":{"x":"x","y":2}}', [["+I", {"x": None, "y": 2}]]),
        ("v INT, w INT", {}, ' \t{ "v" : 1 , "w" : 2 } \n', [["+I", 1, 2]]),
        ("v INT, w INT", {}, '{"v":1,"w":2} trailing', [["+I", 1, 2]]),
        ("v INT, w INT", {}, '{"v":1,"v":3,"w":2}', [["+I", 3, None]]),
    ],
)  # fmt: skip
def test_messages_and_options(declared: str, options: dict[str, str], message: str, expected: Any) -> None:
    columns = parse_columns(declared)
    if isinstance(expected, list):
        expected = [
            [kind, *(plain(value, type_) for value, (_, type_) in zip(values, columns, strict=True))]
            for kind, *values in expected
        ]
    ordinary = ",".join(f'"{name}":null' for name, _ in columns)
    check_read(bind_format("json", options), columns, message.encode(), expected, f"{{{ordinary}}}".encode())
