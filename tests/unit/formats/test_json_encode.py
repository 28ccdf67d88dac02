"""Writing json: byte for byte as Jackson writes it."""

from __future__ import annotations

import base64
import json
import pickle
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.errors import ScriptError
from millstream.formats import java_text
from millstream.formats.arrow_types import arrow_schema
from millstream.formats.json_decode import JsonDecoder
from millstream.formats.json_encode import JsonEncoder
from millstream.formats.json_options import JsonOptions, TimestampStandard
from millstream.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, DataType, Field, TypeRoot, decimal

FLOAT: Final = DataType(TypeRoot.FLOAT)
BYTES: Final = DataType(TypeRoot.BYTES)
DATE: Final = DataType(TypeRoot.DATE)
TIME: Final = DataType(TypeRoot.TIME, precision=3)
TIMESTAMP: Final = DataType(TypeRoot.TIMESTAMP, precision=6)
TIMESTAMP_LTZ: Final = DataType(TypeRoot.TIMESTAMP_LTZ, precision=6)
TEXTS: Final = DataType(TypeRoot.ARRAY, element=STRING)
COUNTS: Final = DataType(TypeRoot.MAP, key=STRING, element=INT)
PAIR: Final = DataType(TypeRoot.ROW, fields=(Field("x", BIGINT), Field("y", STRING)))
ISO: Final = JsonOptions(timestamp_standard=TimestampStandard.ISO_8601)
PLAIN: Final = JsonOptions(decimal_as_plain_number=True)
WITHOUT_NULLS: Final = JsonOptions(ignore_null_fields=True)
ALL: Final = {
    "bo": BOOLEAN, "in": INT, "bi": BIGINT, "fl": FLOAT, "do": DOUBLE, "de": decimal(10, 2),
    "ds": decimal(38, 18), "di": decimal(5, 0), "st": STRING, "by": BYTES, "da": DATE, "tm": TIME,
    "ts": TIMESTAMP, "tz": TIMESTAMP_LTZ, "ar": TEXTS, "ma": COUNTS, "ro": PAIR,
    "rr": DataType(TypeRoot.ARRAY, element=PAIR),
}  # fmt: skip


def encode(
    columns: dict[str, DataType],
    rows: list[dict[str, Any]],
    options: JsonOptions = JsonOptions(),  # noqa: B008
) -> list[bytes]:
    table = pa.Table.from_pylist(rows, arrow_schema(columns.items()))
    messages = JsonEncoder(tuple(columns.items()), options).encode(table)
    assert messages.type == pa.binary()
    messages.validate(full=True)
    found: list[bytes] = messages.to_pylist()
    return found


def encode_value(value: object, type_: DataType, options: JsonOptions = JsonOptions()) -> str:  # noqa: B008
    (message,) = encode({"v": type_}, [{"v": value}], options)
    return message.decode().removeprefix('{"v":').removesuffix("}")


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (DOUBLE, 1.0, "1.0"),
        (DOUBLE, -0.0, "-0.0"),
        (DOUBLE, 1e10, "1.0E10"),
        (DOUBLE, 1e7, "1.0E7"),
        (DOUBLE, 9999999.0, "9999999.0"),
        (DOUBLE, 0.001, "0.001"),
        (DOUBLE, 0.00099, "9.9E-4"),
        (DOUBLE, -1.7976931348623157e308, "-1.7976931348623157E308"),
        (DOUBLE, 5e-324, "4.9E-324"),
        (DOUBLE, float("nan"), '"NaN"'),
        (DOUBLE, float("-inf"), '"-Infinity"'),
        (FLOAT, 1.4e-45, "1.4E-45"),
        (FLOAT, 1 / 3, "0.33333334"),
        (FLOAT, 1e10, "1.0E10"),
        (FLOAT, 1.17549435e-38, "1.1754944E-38"),
        (decimal(10, 2), Decimal("50.00"), "5E+1"),
        (decimal(10, 2), Decimal("-120.50"), "-120.5"),
        (decimal(10, 2), Decimal("0.00"), "0"),
        (decimal(10, 2), Decimal("0.10"), "0.1"),
        (decimal(10, 2), Decimal("10.10"), "10.1"),
        (decimal(38, 18), Decimal("0.000001"), "0.000001"),
        (decimal(38, 18), Decimal("0.0000009"), "9E-7"),
        (decimal(5, 0), Decimal(0), "0"),
        (decimal(5, 0), Decimal(-70), "-7E+1"),
        (decimal(5, 0), Decimal(101), "101"),
        (STRING, 'a"b\\c/', '"a\\"b\\\\c/"'),
        (STRING, "\b\t\n\f\r\x00\x1f\x7f", '"\\b\\t\\n\\f\\r\\u0000\\u001F\x7f"'),
        (STRING, "é\u2028你", '"é\u2028你"'),
        (STRING, "😀", '"\\uD83D\\uDE00"'),
        (BYTES, b"\xff\xee\x00", '"/+4A"'),
        (DATE, date(1, 1, 1), '"0001-01-01"'),
        (TIME, 25_689_123, '"07:08:09"'),
        (TIMESTAMP, datetime.fromisoformat("2024-05-06 00:00:00"), '"2024-05-06 00:00:00"'),
        (TIMESTAMP, datetime.fromisoformat("2024-05-06 07:08:10.100"), '"2024-05-06 07:08:10.1"'),
        (TIMESTAMP, datetime.fromisoformat("1969-12-31 23:59:59.000001"), '"1969-12-31 23:59:59.000001"'),
        (TIMESTAMP_LTZ, datetime(2024, 5, 6, 7, 8, 9, 120000, UTC), '"2024-05-06 07:08:09.12Z"'),
        (TEXTS, ['a"', None, ""], '["a\\"",null,""]'),
        (TEXTS, [], "[]"),
        (COUNTS, [("k\n", 1), ("l", None)], '{"k\\n":1,"l":null}'),
        (COUNTS, [], "{}"),
        (PAIR, {"x": 9, "y": None}, '{"x":9,"y":null}'),
        *((type_, None, "null") for type_ in ALL.values()),
    ],
)
def test_writes(type_: DataType, value: object, expected: str) -> None:
    assert encode_value(value, type_) == expected


def test_options() -> None:
    moment = datetime(2024, 5, 6, 7, 8, 9, 120000, UTC)
    assert encode_value(moment, TIMESTAMP_LTZ, ISO) == '"2024-05-06T07:08:09.12Z"'
    assert encode_value(moment.replace(tzinfo=None), TIMESTAMP, ISO) == '"2024-05-06T07:08:09.12"'
    assert encode_value(Decimal("50.00"), decimal(10, 2), PLAIN) == "50.00"
    assert encode_value(Decimal("0.000000027"), decimal(38, 18), PLAIN) == "0.000000027000000000"


def test_null_fields_are_left_out_of_rows_only() -> None:
    columns = {"a": INT, "r": PAIR, "t": TEXTS, "m": COUNTS}
    rows: list[dict[str, Any]] = [
        {"a": None, "r": {"x": None, "y": "q"}, "t": [None], "m": [("k", None)]},
        {"a": 1, "r": {"x": None, "y": None}, "t": None, "m": None},
        {},
    ]
    assert encode(columns, rows, WITHOUT_NULLS) == [
        b'{"r":{"y":"q"},"t":[null],"m":{"k":null}}',
        b'{"a":1,"r":{}}',
        b"{}",
    ]


def test_years_beyond_four_digits() -> None:
    days = pa.array([2932897, -719529, -719528], pa.int32())
    micros = pa.array([2932897 * java_text.MICROS_PER_DAY, -(2**63), 2**63 - 1], pa.int64())
    table = pa.table({"d": days.cast(pa.date32()), "t": micros.cast(pa.timestamp("us"))})
    assert JsonEncoder((("d", DATE), ("t", TIMESTAMP))).encode(table).to_pylist() == [
        b'{"d":"+10000-01-01","t":"+10000-01-01 00:00:00"}',
        b'{"d":"-0001-12-31","t":"-290308-12-21 19:59:05.224192"}',
        b'{"d":"0000-01-01","t":"+294247-01-10 04:00:54.775807"}',
    ]


def test_names_are_escaped_too() -> None:
    assert encode({'a"b\n😀': INT}, [{'a"b\n😀': 1}]) == [b'{"a\\"b\\n\\uD83D\\uDE00":1}']


def test_no_rows_and_no_columns() -> None:
    assert encode(ALL, []) == []
    table = pa.table({"x": [1, 2]})
    assert JsonEncoder(()).encode(table).to_pylist() == [b"{}", b"{}"]


def test_slices_and_chunks() -> None:
    rows: list[dict[str, Any]] = [
        {"st": f"{i}\n", "ar": [str(i), None], "ma": [(str(i), i)], "ro": {"x": i, "y": None}} for i in range(9)
    ]
    columns = {name: ALL[name] for name in ("st", "ar", "ma", "ro")}
    rows[4] = dict.fromkeys(columns)
    table = pa.Table.from_pylist(rows, arrow_schema(columns.items()))
    encoder = JsonEncoder(tuple(columns.items()))
    whole = encoder.encode(table).to_pylist()
    assert encoder.encode(table.slice(3, 4)).to_pylist() == whole[3:7]
    assert encoder.encode(pa.concat_tables([table.slice(5), table.slice(0, 5)])).to_pylist() == whole[5:] + whole[:5]


def test_other_arrow_types_of_the_same_values() -> None:
    table = pa.table(
        {
            "st": pa.array(['a"b'], pa.large_string()),
            "bi": pa.array([7], pa.int32()),
            "tz": pa.array([0]).cast(pa.timestamp("us", "America/New_York")),
        }
    )
    encoder = JsonEncoder(tuple((name, ALL[name]) for name in table.column_names))
    assert encoder.encode(table).to_pylist() == [b'{"st":"a\\"b","bi":7,"tz":"1970-01-01 00:00:00Z"}']


def test_encoder_is_picklable() -> None:
    encoder = pickle.loads(pickle.dumps(JsonEncoder((("v", INT),), WITHOUT_NULLS)))
    assert encoder.encode(pa.table({"v": pa.array([None, 1], pa.int32())})).to_pylist() == [b"{}", b'{"v":1}']


def test_map_keys_must_be_text() -> None:
    with pytest.raises(ScriptError):
        JsonEncoder((("m", DataType(TypeRoot.MAP, key=INT, element=INT)),))


TEXT: Final = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n\x01😀'), max_size=8)
VALUES: Final[dict[TypeRoot, st.SearchStrategy[Any]]] = {
    TypeRoot.BOOLEAN: st.booleans(),
    TypeRoot.INT: st.integers(-(2**31), 2**31 - 1),
    TypeRoot.BIGINT: st.integers(-(2**63), 2**63 - 1),
    TypeRoot.FLOAT: st.floats(width=32) | st.floats(0, 100, width=32),
    TypeRoot.DOUBLE: st.floats() | st.floats(0, 100),
    TypeRoot.STRING: TEXT,
    TypeRoot.BYTES: st.binary(max_size=8),
    TypeRoot.DATE: st.dates(),
    TypeRoot.TIME: st.integers(0, 86_399).map(lambda seconds: seconds * 1000),
    TypeRoot.TIMESTAMP: st.datetimes() | st.datetimes().map(lambda moment: moment.replace(microsecond=120000)),
    TypeRoot.TIMESTAMP_LTZ: st.datetimes(timezones=st.just(UTC)),
}


def values(type_: DataType) -> st.SearchStrategy[Any]:
    some: st.SearchStrategy[Any]
    match type_.root:
        case TypeRoot.DECIMAL:
            precision, scale = type_.precision or 0, type_.scale or 0
            digits = st.integers(1 - 10**precision, 10**precision - 1) | st.integers(-100, 100).map(lambda n: n * 10)
            some = digits.map(lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -scale)))
        case TypeRoot.ARRAY:
            assert type_.element is not None
            some = st.lists(values(type_.element), max_size=3)
        case TypeRoot.MAP:
            assert type_.element is not None
            some = st.dictionaries(TEXT, values(type_.element), max_size=3).map(lambda pairs: list(pairs.items()))
        case TypeRoot.ROW:
            some = st.fixed_dictionaries({field.name: values(field.type) for field in type_.fields})
        case root:
            some = VALUES[root]
    return st.none() | some


ROWS: Final = st.lists(st.fixed_dictionaries({name: values(type_) for name, type_ in ALL.items()}), max_size=4)
OPTIONS: Final = st.sampled_from([JsonOptions(), ISO, PLAIN, WITHOUT_NULLS])


@given(ROWS, OPTIONS)
def test_what_is_written_is_read_back(rows: list[dict[str, Any]], options: JsonOptions) -> None:
    columns = tuple(ALL.items())
    table = pa.Table.from_pylist(rows, arrow_schema(columns))
    messages = JsonEncoder(columns, options).encode(table)
    assert repr(JsonDecoder(columns, options).decode(messages).table.to_pylist()) == repr(table.to_pylist())


@given(ROWS, OPTIONS)
def test_vectors_write_what_single_values_would(rows: list[dict[str, Any]], options: JsonOptions) -> None:
    assert encode(ALL, rows, options) == [plain_object(row, ALL, options).encode() for row in rows]


def plain_object(row: dict[str, Any], fields: dict[str, DataType], options: JsonOptions) -> str:
    members = (
        f'"{name}":{plain_text(row[name], type_, options)}'
        for name, type_ in fields.items()
        if row[name] is not None or not options.ignore_null_fields
    )
    return f"{{{','.join(members)}}}"


def plain_text(value: Any, type_: DataType, options: JsonOptions) -> str:
    separator = "T" if options.timestamp_standard is TimestampStandard.ISO_8601 else " "
    match value:
        case int() if type_.root is TypeRoot.TIME:
            return f'"{timedelta(milliseconds=value)!s:0>8}"'
        case None:
            return "null"
        case bool() | int():
            return str(value).lower()
        case float():
            text = java_text.float_text(value) if type_ is FLOAT else java_text.double_text(value)
            return f'"{text}"' if not np.isfinite(value) else text
        case Decimal():
            return format(value, "f") if options.decimal_as_plain_number else java_text.stripped_decimal_text(value)
        case str():
            return quote(value)
        case bytes():
            return f'"{base64.b64encode(value).decode()}"'
        case datetime():
            text = value.replace(tzinfo=None).isoformat(separator, "microseconds").rstrip("0").rstrip(".")
            return f'"{text}Z"' if value.tzinfo else f'"{text}"'
        case date():
            return f'"{value.isoformat()}"'
        case list() if type_.root is TypeRoot.ARRAY:
            return f"[{','.join(plain_text(v, type_.element or STRING, options) for v in value)}]"
        case list():
            return f"{{{','.join(f'{quote(k)}:{plain_text(v, INT, options)}' for k, v in value)}}}"
        case _:
            return plain_object(value, {field.name: field.type for field in type_.fields}, options)


def quote(text: str) -> str:
    """Python writes the same short escapes, and lower-case hexadecimal digits in the others."""
    return "".join(
        json.dumps(c)[1:-1].replace("\\u", "\\\\").upper().replace("\\\\", "\\u")
        if (c < " " and len(json.dumps(c)) > 4) or c > "\uffff"
        else json.dumps(c, ensure_ascii=False)[1:-1]
        for c in f"{text}"
    ).join('""')
