"""Every option that changes what is written, and formats whose bytes depend on more than one value."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pytest

from millstream.formats.arrow_types import arrow_schema
from millstream.formats.codecs import encoder_of
from tests.unit.formats.conformance.reading import parse_columns
from tests.unit.formats.flink_goldens import bind_format

MOMENTS: Final = "a TIMESTAMP(3), b TIMESTAMP_LTZ(3)"
AT: Final = [datetime(2024, 5, 6, 7, 8, 9, 120_000), datetime(2024, 5, 6, 7, 8, 9, 0, UTC)]  # noqa: DTZ001
NULLS: Final = "a INT, r ROW<x INT, y ARRAY<INT>>, m MAP<STRING, INT>, z STRING"
HALF_EMPTY: Final = [None, {"x": None, "y": [None]}, [("k", None)], "z"]
DECIMALS: Final = "p DECIMAL(10, 2), q DECIMAL(38, 18), r DECIMAL(5, 0)"
NUMBERS: Final = [Decimal("50.00"), Decimal("0.000000027000000000"), Decimal(100)]
WORDS: Final = "a STRING, b STRING, c INT"


def encode_row(identifier: str, options: dict[str, str], declared: str, row: list[Any]) -> Any:
    columns = parse_columns(declared)
    schema = arrow_schema(columns)
    arrays = [pa.array([value], type_) for value, type_ in zip(row, schema.types, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=schema)
    [message] = encoder_of(bind_format(identifier, options), columns).encode(table).to_pylist()
    return message


JSON: Final = [
    ({}, MOMENTS, AT, '{"a":"2024-05-06 07:08:09.12","b":"2024-05-06 07:08:09Z"}'),
    ({"timestamp-format.standard": "ISO-8601"}, MOMENTS, AT,
     '{"a":"2024-05-06T07:08:09.12","b":"2024-05-06T07:08:09Z"}'),
    ({}, NULLS, HALF_EMPTY, '{"a":null,"r":{"x":null,"y":[null]},"m":{"k":null},"z":"z"}'),
    ({"encode.ignore-null-fields": "true"}, NULLS, HALF_EMPTY, '{"r":{"y":[null]},"m":{"k":null},"z":"z"}'),
    ({"encode.ignore-null-fields": "true"}, NULLS, [None] * 4, "{}"),
    ({}, DECIMALS, NUMBERS, '{"p":5E+1,"q":2.7E-8,"r":1E+2}'),
    ({"encode.decimal-as-plain-number": "true"}, DECIMALS, NUMBERS, '{"p":50.00,"q":0.000000027000000000,"r":100}'),
]  # fmt: skip
AROUND: Final = {
    "json": "ROW",
    "debezium-json": '{"before":null,"after":ROW,"op":"c"}',
    "ogg-json": '{"before":null,"after":ROW,"op_type":"I"}',
    "canal-json": '{"data":[ROW],"type":"INSERT"}',
    "maxwell-json": '{"data":ROW,"type":"insert"}',
}


@pytest.mark.parametrize(("options", "declared", "row", "text"), JSON)
@pytest.mark.parametrize("identifier", AROUND)
def test_json(identifier: str, options: dict[str, str], declared: str, row: list[Any], text: str) -> None:
    prefixed = {f"{identifier}.{key}": value for key, value in options.items()}
    around = AROUND[identifier]
    if "encode.ignore-null-fields" in options:  # the envelope's own NULLs go too
        around = around.replace('"before":null,', "")
    assert encode_row(identifier, prefixed, declared, row).decode() == around.replace("ROW", text)


@pytest.mark.parametrize(
    ("options", "row", "text"),
    [
        ({}, ["a b", "c", 1], '"a b",c,1'),
        ({"field-delimiter": ";"}, ["a-b", "c", 1], '"a-b";c;1'),
        ({"field-delimiter": "\\t"}, ["a,b", "c d", 1], 'a,b\t"c d"\t1'),
        ({"field-delimiter": "|"}, ["A", "~", 1], '"A"|~|1'),
        ({"quote-character": "'"}, ["a'b", 'c"d', 1], "'a''b','c\"d',1"),
        ({"disable-quote-character": "true"}, ["a,b", 'c"d', 1], 'a,b,c"d,1'),
        ({"escape-character": "\\"}, ["a\\b", 'c"d', 1], '"a\\\\b","c""d",1'),
        ({"null-literal": "n/a"}, [None, "n/a", None], "n/a,n/a,n/a"),
        ({}, [None, "", None], ",,"),
    ],
)
def test_csv(options: dict[str, str], row: list[Any], text: str) -> None:
    prefixed = {f"csv.{key}": value for key, value in options.items()}
    assert encode_row("csv", prefixed, WORDS, row).decode() == text


@pytest.mark.parametrize(
    ("options", "declared", "row", "text"),
    [
        ({"csv.array-element-delimiter": "|"}, "a ARRAY<INT>, r ROW<x INT, y STRING>", [[1, 2], {"x": 1, "y": "a"}],
         "1|2,1|a"),
        ({}, DECIMALS, NUMBERS, "50.00,0.000000027000000000,100"),
        ({"csv.write-bigdecimal-in-scientific-notation": "true"}, DECIMALS, NUMBERS, "5E+1,2.7E-8,1E+2"),
        ({"csv.write-bigdecimal-in-scientific-notation": "false"}, DECIMALS, NUMBERS, "50.00,0.000000027000000000,100"),
        ({}, "a ARRAY<DECIMAL(4, 1)>", [[Decimal("10.0"), None]], "10.0;"),
    ],
)  # fmt: skip
def test_csv_of_other_types(options: dict[str, str], declared: str, row: list[Any], text: str) -> None:
    assert encode_row("csv", options, declared, row).decode() == text


LITTLE: Final = {"raw.endianness": "little-endian"}


@pytest.mark.parametrize(
    ("options", "type_", "value", "message"),
    [
        (LITTLE, "SMALLINT", 1, "0100"),
        (LITTLE, "INT", -2, "feffffff"),
        (LITTLE, "BIGINT", 1, "0100000000000000"),
        (LITTLE, "FLOAT", 1.5, "0000c03f"),
        (LITTLE, "DOUBLE", 0.1, "9a9999999999b93f"),
        (LITTLE, "TINYINT", -1, "ff"),
        ({"raw.charset": "ISO-8859-1"}, "STRING", "é你", "e93f"),
        ({"raw.charset": "UTF-16"}, "STRING", "é", "feff00e9"),
        ({"raw.charset": "UTF-16LE"}, "STRING", "é", "e900"),
        ({"raw.charset": "US-ASCII"}, "STRING", "é", "3f"),
        ({"raw.charset": "GBK"}, "STRING", "你", "c4e3"),
        ({"raw.line-delimiter": "\n"}, "STRING", "a", "610a"),
    ],
)
def test_raw(options: dict[str, str], type_: str, value: Any, message: str) -> None:
    assert encode_row("raw", options, f"v {type_}", [value]).hex() == message
