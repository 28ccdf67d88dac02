"""Reading json: Flink's rules and leniencies one by one."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final
from unittest.mock import patch

import pyarrow as pa
import pytest

from millstream.errors import Code, ScriptError
from millstream.formats import message_decoder
from millstream.formats.arrow_types import arrow_schema
from millstream.formats.decoded import Decoded, DecodeError
from millstream.formats.json_decode import JsonDecoder
from millstream.formats.json_options import JsonOptions, TimestampStandard
from millstream.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, DataType, Field, TypeRoot, decimal

TINYINT: Final = DataType(TypeRoot.TINYINT)
FLOAT: Final = DataType(TypeRoot.FLOAT)
BYTES: Final = DataType(TypeRoot.BYTES)
DATE: Final = DataType(TypeRoot.DATE)
TIME: Final = DataType(TypeRoot.TIME, precision=3)
TIMESTAMP: Final = DataType(TypeRoot.TIMESTAMP, precision=3)
TIMESTAMP_LTZ: Final = DataType(TypeRoot.TIMESTAMP_LTZ, precision=3)
INTS: Final = DataType(TypeRoot.ARRAY, element=INT)
COUNTS: Final = DataType(TypeRoot.MAP, key=STRING, element=INT)
PAIR: Final = DataType(TypeRoot.ROW, fields=(Field("x", BIGINT), Field("y", STRING)))
MOMENTS: Final = DataType(TypeRoot.ARRAY, element=TIMESTAMP)
DAY: Final = DataType(TypeRoot.ROW, fields=(Field("d", DATE),))
LENIENT: Final = JsonOptions(ignore_parse_errors=True)
COMPLETE: Final = JsonOptions(fail_on_missing_field=True)


at: Final = datetime.fromisoformat


def decode(
    messages: list[bytes | None],
    columns: dict[str, DataType],
    options: JsonOptions = JsonOptions(),  # noqa: B008
    *,
    exact_only: bool = False,
) -> Decoded:
    decoder = JsonDecoder(tuple(columns.items()), options)
    decoder._exact_only |= exact_only
    decoded = decoder.decode(pa.array(messages, pa.binary()))
    decoded.table.validate(full=True)
    assert decoded.table.schema == arrow_schema(columns.items())
    return decoded


def value(text: str, type_: DataType, options: JsonOptions = JsonOptions()) -> Any:  # noqa: B008
    """What a field of this type holds; both readers must say the same."""
    message = f'{{"v":{text}}}'.encode("utf-8", "surrogatepass")
    batch, exact = (decode([message], {"v": type_}, options, exact_only=e) for e in (False, True))
    assert repr(batch.table.to_pylist()) == repr(exact.table.to_pylist())
    return batch.table["v"][0].as_py()


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        (BOOLEAN, '" TRUE "', True),
        (BOOLEAN, '{"a":true}', False),
        (BOOLEAN, "[true]", False),
        (TINYINT, "-128", -128),
        (TINYINT, '" +7 "', 7),
        (INT, "-112.99", -112),
        (INT, "-0", 0),
        (INT, "2147483647", 2147483647),
        (BIGINT, "9223372036854775807.0", 9223372036854775807),
        (BIGINT, "9007199254740993.0", 9007199254740992),
        (DOUBLE, "5", 5.0),
        (DOUBLE, "1e400", float("inf")),
        (DOUBLE, "1e-400", 0.0),
        (DOUBLE, '"-Infinity"', float("-inf")),
        (DOUBLE, '" .5d "', 0.5),
        (FLOAT, "1e39", float("inf")),
        (FLOAT, "1.00000005960464484", 1.0000001192092896),
        (FLOAT, '"1.00000005960464484"', 1.0000001192092896),
        (decimal(5, 2), "2.345", Decimal("2.35")),
        (decimal(5, 2), "-2.345", Decimal("-2.35")),
        (decimal(5, 2), "999.995", None),
        (decimal(5, 2), "12345", None),
        (decimal(5, 2), "1e2", Decimal("100.00")),
        (decimal(5, 2), "1e999999999", None),
        (decimal(5, 2), "0e999999999", Decimal("0.00")),
        (decimal(5, 2), "-0.001", Decimal("0.00")),
        (decimal(5, 2), '" 1.5 "', Decimal("1.50")),
        (decimal(5, 5), "0.00001", Decimal("0.00001")),
        (decimal(38, 0), "99999999999999999999999999999999999999", Decimal("9" * 38)),
        (STRING, '"a\\u0000b\\/\\ud83d\\ude00é"', "a\x00b/😀é"),
        (STRING, '"\\ud800x"', "?x"),
        (STRING, '"tab\there"', "tab\there"),
        (STRING, '"line\nbreak"', "line\nbreak"),
        (STRING, "-1.50E+3", "-1.50E+3"),
        (STRING, "-0", "-0"),
        (STRING, '{"b":2 , "a":[ -0,1e3], "b":"\\"\\u0001😀"}', '{"b":"\\"\\u0001😀","a":[0,1000.0]}'),
        (STRING, "{}", "{}"),
        (BYTES, '""', b""),
        (BYTES, '"AQ=="', b"\x01"),
        (BYTES, '"AR=="', b"\x01"),
        (BYTES, '" AQI=\\n AQ==AQIDBA== "', b"\x01\x02\x01\x01\x02\x03\x04"),
        (DATE, '"2024-02-29"', date(2024, 2, 29)),
        (TIME, '"24:00:00"', 0),
        (TIME, '"07:08:09.999999"', 25_689_000),
        (TIME, '"07:08:09."', 25_689_000),
        (TIMESTAMP, '"2024-01-02 03:04:05.123456789"', at("2024-01-02 03:04:05.123456")),
        (TIMESTAMP, '"2024-01-02 24:00:00"', at("2024-01-03")),
        (TIMESTAMP, '"2023-02-31 00:00:00"', at("2023-02-28")),
        (TIMESTAMP, '"1969-12-31 23:59:59.999"', at("1969-12-31 23:59:59.999000")),
        (TIMESTAMP_LTZ, '"2024-01-02 03:04:05.1Z"', datetime(2024, 1, 2, 3, 4, 5, 100000, UTC)),
        (INTS, '[1,"2",null,3.9]', [1, 2, None, 3]),
        (INTS, "[]", []),
        (COUNTS, '{"a":1,"b":null,"a":"3"}', [("a", 3), ("b", None)]),
        (PAIR, '{"y":"q"}', {"x": None, "y": "q"}),
        (PAIR, '{"x":1,"x":2,"y":"too late"}', {"x": 2, "y": None}),
        (PAIR, "null", None),
        (MOMENTS, '["2024-01-02 03:04:05",null]', [at("2024-01-02 03:04:05"), None]),
        (DAY, '{"d":"2024-01-02"}', {"d": date(2024, 1, 2)}),
    ],
)  # fmt: skip
def test_reads(type_: DataType, text: str, expected: object) -> None:
    found = value(text, type_)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (TINYINT, "128"),
        (TINYINT, "1e1"),
        (INT, "2147483647.5"),
        (INT, "true"),
        (INT, '"1_000"'),
        (INT, '""'),
        (BIGINT, "9223372036854775808"),
        (BIGINT, "1e19"),
        (DOUBLE, "NaN"),
        (DOUBLE, "-Infinity"),
        (DOUBLE, '"nan"'),
        (DOUBLE, '"1_0.5"'),
        (FLOAT, "true"),
        (decimal(5, 2), '"NaN"'),
        (decimal(5, 2), '"1_0"'),
        (decimal(5, 2), "false"),
        (BYTES, "12"),
        (BYTES, '"A==="'),
        (DATE, '"2023-02-29"'),
        (DATE, '"10000-01-01"'),
        (DATE, '"-0000-01-01"'),
        (DATE, '" 2024-01-01"'),
        (BYTES, '"AQ\\n=="'),
        (TIME, '"07:08"'),
        (TIME, '"24:00:01"'),
        (TIMESTAMP, '"2024-01-02 03:04"'),
        (TIMESTAMP, '"2024-01-02 03:04:60"'),
        (TIMESTAMP, '"2024-01-32 00:00:00"'),
        (TIMESTAMP, '"2024-01-02 03:04+01:00"'),
        (TIMESTAMP, '"2024-01-02 03:04:05.1234567890"'),
        (TIMESTAMP_LTZ, '"2024-01-02 03:04:05+00:00"'),
        (TIMESTAMP_LTZ, '"2024-01-02T03:04:05Z"'),
        (INTS, '{"a":1}'),
        (COUNTS, "[1]"),
    ],
)  # fmt: skip
def test_refuses(type_: DataType, text: str) -> None:
    with pytest.raises(DecodeError, match="Failed to deserialize JSON"):
        value(text, type_)
    if text not in {"NaN", "-Infinity"}:
        assert value(text, type_, LENIENT) is None


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        (TIMESTAMP, "2024-01-02T03:04:05.1", at("2024-01-02 03:04:05.100000")),
        (TIMESTAMP, "2024-01-02t03:04", at("2024-01-02 03:04:00")),
        (TIMESTAMP, "2024-01-02T24:00:00", None),
        (TIMESTAMP, "2023-02-29T00:00:00", None),
        (TIMESTAMP, "2024-01-02 03:04:05", None),
        (TIMESTAMP, "2024-01-02T03:04:05Z", None),
        (TIMESTAMP_LTZ, "2024-01-02T03:04:05.123Z", datetime(2024, 1, 2, 3, 4, 5, 123000, UTC)),
        (TIMESTAMP_LTZ, "2024-01-02T24:00Z", datetime(2024, 1, 3, tzinfo=UTC)),
        (TIMESTAMP_LTZ, "2024-01-02t03:04:05Z", None),
        (TIMESTAMP_LTZ, "2024-01-02T03:04:05", None),
    ],
)
def test_iso_timestamps(type_: DataType, text: str, expected: datetime | None) -> None:
    options = JsonOptions(timestamp_standard=TimestampStandard.ISO_8601, ignore_parse_errors=True)
    assert value(f'"{text}"', type_, options) == expected


def test_years_beyond_four_digits() -> None:
    messages: list[bytes | None] = [b'{"v":"+10000-01-01"}', b'{"v":"-0001-12-31"}', b'{"v":"0000-01-01"}']
    days = decode(messages, {"v": DATE}).table["v"].cast(pa.int32()).to_pylist()
    assert days == [2932897, -719529, -719528]


def test_null_and_empty_messages_have_no_row() -> None:
    decoded = decode([b'{"v":1}', None, b"", b'{"v":2}'], {"v": INT})
    assert decoded.table["v"].to_pylist() == [1, 2]
    assert decoded.origin is not None
    assert decoded.origin.to_pylist() == [0, 3]
    assert decoded.skipped == 0


def test_one_row_per_message_needs_no_origin() -> None:
    assert decode([b'{"v":1}', b'[{"v":2}]', b' {"v":"3"}\n'], {"v": INT}).origin is None
    assert decode([], {"v": INT}).origin is None


def test_rows_of_both_readers_stay_in_order() -> None:
    messages: list[bytes | None] = [f'{{"v":{i}}}'.encode() for i in range(1000)]
    messages[10] = b'[{"v":10},{"v":-10}]'
    messages[500] = b'{"v":"500"}'
    messages[999] = b"[]"
    decoded = decode(messages, {"v": INT})
    assert decoded.table["v"].to_pylist() == [*range(11), -10, *range(11, 999)]
    assert decoded.origin is not None
    assert decoded.origin.to_pylist() == [*range(11), 10, *range(11, 999)]


def test_slices_and_large_binaries() -> None:
    values = pa.array([b"x", None, b'{"v":1}', b'{"v":2}', b"y"], pa.binary()).slice(2, 2)
    decoder = JsonDecoder((("v", INT),))
    for array in (values, values.cast(pa.large_binary())):
        assert decoder.decode(array).table["v"].to_pylist() == [1, 2]


def test_messages_are_never_read_across_their_borders() -> None:
    columns = {"v": STRING, "w": INT}
    split: list[bytes | None] = [b'{"v":"abc}', b'{","w":2}{"w":3}', b'{"v":{}', b"{}}"]
    decoded = decode([*split, b'{"w":1}{"w":2}', b'{\n"w"\n:4\n}'], columns, LENIENT)
    assert decoded.table["w"].to_pylist() == [None, 1, 4]
    assert decoded.skipped == 3


def test_large_batches_are_read_in_parts() -> None:
    with patch.object(message_decoder, "_BATCH_BYTES", 100):
        messages: list[bytes | None] = [f'{{"v":{i}}}'.encode() for i in range(1000)]
        assert decode(messages, {"v": INT}).table["v"].to_pylist() == list(range(1000))


@pytest.mark.parametrize("exact_only", [False, True])
def test_no_column_still_counts_rows(exact_only: bool) -> None:  # noqa: FBT001
    decoded = decode([b'{"v":1}', b"{}", b"[{},{}]"], {}, exact_only=exact_only)
    assert decoded.table.num_rows == 4
    assert decoded.origin is not None
    assert decoded.origin.to_pylist() == [0, 1, 2, 2]


@pytest.mark.parametrize("message", [b'{"v":1,"w":NaN}', b'{"w":[Infinity ],"v":1}', b'{"w":{"x":-Inf},"v":1}'])
def test_bare_words_are_refused_even_in_fields_not_asked_for(message: bytes) -> None:
    with pytest.raises(DecodeError):
        decode([message], {"v": INT})
    assert decode([b'{"w":"NaN","x":"a Info, NaN","v":1}'], {"v": INT}).table["v"].to_pylist() == [1]


def test_missing_fields() -> None:
    assert decode([b'{"v":1}'], {"v": INT, "w": INT}).table.to_pylist() == [{"v": 1, "w": None}]
    assert decode([b'{"v":1,"w":null}'], {"v": INT, "w": INT}, COMPLETE).table.num_rows == 1
    with pytest.raises(DecodeError, match="Some field is missing in the JSON data"):
        decode([b'{"v":1}'], {"v": INT, "w": INT}, COMPLETE)
    with pytest.raises(DecodeError, match="Fail to deserialize at field: v"):
        decode([b'{"v":{"x":1}}'], {"v": PAIR}, COMPLETE)


def test_parse_errors_are_ignored_as_deep_as_they_lie() -> None:
    row = b'{"a":[123,"abc"],"m":{"k":"x","l":2},"r":{"x":"q","y":"z"}}'
    decoded = decode([row, b"{", b"7", b'[{"a":[1]},5]'], {"a": INTS, "m": COUNTS, "r": PAIR}, LENIENT)
    assert decoded.table.to_pylist() == [
        {"a": [123, None], "m": [("k", None), ("l", 2)], "r": {"x": None, "y": "z"}},
        {"a": [1], "m": None, "r": None},
    ]
    assert decoded.skipped == 3


def test_the_error_names_the_first_bad_message_and_shortens_it() -> None:
    messages: list[bytes | None] = [b'{"v":1}'] * 600
    messages[400] = b'{"v":"' + b"x" * 5000 + b'"}'
    messages[500] = b"broken"
    with pytest.raises(DecodeError) as caught:
        decode(messages, {"v": INT})
    assert caught.value.index == 400
    assert len(caught.value.text) < 700
    assert caught.value.text.endswith("Fail to deserialize at field: v.")
    assert pickle.loads(pickle.dumps(caught.value)).index == 400


def test_what_is_not_utf8_is_refused() -> None:
    with pytest.raises(DecodeError):
        decode([b'{"v":1}', b'{"v":1,"w":"\xff"}'], {"v": INT})
    assert decode(['{"v":1}'.encode("utf-16")], {"v": INT}).table["v"].to_pylist() == [1]


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(DecodeError):
        decode([b'{"v":' + b"[" * 100_000], {"v": STRING})


def test_decoder_is_picklable() -> None:
    decoder = pickle.loads(pickle.dumps(JsonDecoder((("v", INT),), LENIENT)))
    assert decoder.decode(pa.array([b'{"v":"x"}'])).table["v"].to_pylist() == [None]


def test_map_keys_must_be_text() -> None:
    with pytest.raises(ScriptError, match="The type is: MAP<INT, INT>") as caught:
        JsonDecoder((("m", DataType(TypeRoot.ARRAY, element=DataType(TypeRoot.MAP, key=INT, element=INT))),))
    assert caught.value.code is Code.UNSUPPORTED_TYPE
