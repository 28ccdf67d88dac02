"""The batch reader and the exact reader must never differ."""

from __future__ import annotations

import json
from typing import Final
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.formats import message_decoder
from millstream.formats.decoded import DecodeError
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
PAIR: Final = DataType(TypeRoot.ROW, fields=(Field("x", BIGINT), Field("y", STRING)))
ISO: Final = JsonOptions(timestamp_standard=TimestampStandard.ISO_8601)
LENIENT: Final = JsonOptions(ignore_parse_errors=True)
COMPLETE: Final = JsonOptions(fail_on_missing_field=True)
ALL: Final = {
    "bo": BOOLEAN, "ti": TINYINT, "in": INT, "bi": BIGINT, "fl": FLOAT, "do": DOUBLE, "de": decimal(5, 2),
    "st": STRING, "by": BYTES, "da": DATE, "tm": TIME, "ts": TIMESTAMP,
    "tz": TIMESTAMP_LTZ, "ar": INTS, "ro": PAIR,
}  # fmt: skip
TEXTS: Final = [
    "null", "true", "false", "0", "-0", "7", "127", "128", "12.0", "112.013", "1.005", "999.999", "1e3",
    "1E400", "1e-400", "01", "1.", "-", "NaN", "-Infinity", "9223372036854775807", "9223372036854775808",
    "1e39", "99999", '""', '"7"', '" 7 "', '"+7"', '"1.5"', '".5"', '"5."', '"."', '"1e2"', '"NaN"',
    '"true"', '"TRUE "', '"tru\\u0065"', '"AQI="', '"AQ=="', '"AR=="', '"AQI"', '"2024-02-29"',
    '"2023-02-29"', '"2024-2-9"', '"0000-01-01"', '"07:08:09"', '"07:08:09.123456"', '"07:08:09.1234567"',
    '"07:08"', '"24:00:00"', '"07:08:09Z"', '"07:08+01:00"', '"2024-01-02 03:04:05"',
    '"2024-01-02 03:04:05.123"', '"2024-01-02 03:04:05.1234567"', '"2024-01-02 03:04:05."',
    '"2024-01-02 03:04:05Z"', '"2024-01-02 03:04:05.1Z"', '"2024-01-02T03:04:05"', '"2024-01-02T03:04:05Z"',
    '"2024-01-02t03:04:05"', '"2024-01-02T03:04"', '"2024-01-02 24:00:00"', '"2023-02-29 00:00:00"',
    '"2024-01-02 03:04:05+00"', '"2024-01-02 03:04+01:00"', '"2024-01-02 03:04:05 "',
    '"9999-12-31 23:59:59.999999"', '"a\tb"', '"a\nb"', '"\\u0000"', '"\\ud83d\\ude00"', '"\\ud800"',
    '"\\udc00"', '"\\x"', '"Info, NaN"', '"é😀"', '"', "[]", "[1,2]", '[1,"2",null]', "[1.5]", "[[1]]", "{}",
    '{"x":1}', '{"x":"1","y":2}', '{"x":1,"x":2}', '{"x":{}}', "[", "{",
]  # fmt: skip
FIELDS: Final = st.tuples(
    st.sampled_from([*ALL, "unknown", "b\\u006f"]),
    st.sampled_from(TEXTS) | st.text().map(json.dumps) | st.integers().map(str) | st.floats().map(repr),
)
OBJECTS: Final = st.lists(FIELDS, max_size=4).map(lambda fs: "{" + ",".join(f'"{n}":{t}' for n, t in fs) + "}")
MESSAGES: Final = st.one_of(
    OBJECTS, OBJECTS, OBJECTS,
    OBJECTS.map(lambda text: f"[{text}]"), OBJECTS.map(lambda text: f"\t{text} \n"),
    st.tuples(OBJECTS, OBJECTS).map("".join), st.text(), st.just(""), st.none(),
)  # fmt: skip


def outcome(
    messages: list[bytes | None], columns: dict[str, DataType], options: JsonOptions, *, exact_only: bool
) -> object:
    """Everything a caller can see of a decoding, comparable even with NaN and far dates in it."""
    decoder = JsonDecoder(tuple(columns.items()), options)
    decoder._exact_only |= exact_only
    try:
        decoded = decoder.decode(pa.array(messages, pa.binary()))
    except DecodeError as error:
        return error.index, error.text
    decoded.table.validate(full=True)
    origin = None if decoded.origin is None else decoded.origin.to_pylist()
    return repr(_plain(decoded.table).to_pylist()), decoded.table.num_rows, origin, decoded.skipped


def _plain(table: pa.Table) -> pa.Table:
    for i, field in enumerate(table.schema):
        if pa.types.is_temporal(field.type):
            days_or_micros = pa.int32() if pa.types.is_date(field.type) else pa.int64()
            table = table.set_column(i, field.name, table[field.name].cast(days_or_micros))
    return table


@given(
    st.lists(MESSAGES, max_size=6),
    st.lists(st.sampled_from(list(ALL)), unique=True, max_size=5),
    st.sampled_from([JsonOptions(), ISO, LENIENT, COMPLETE]),
    st.sampled_from([1, 256]),
)
def test_both_readers_agree(texts: list[str | None], names: list[str], options: JsonOptions, small: int) -> None:
    columns = {name: ALL[name] for name in names}
    messages = [None if text is None else text.encode("utf-8", "replace") for text in texts]
    with patch.object(message_decoder, "_SMALL_BATCH", small):
        batch = outcome(messages, columns, options, exact_only=False)
    assert batch == outcome(messages, columns, options, exact_only=True)


@pytest.mark.parametrize("name", ALL)
def test_both_readers_agree_on_repeated_names(name: str) -> None:
    columns = {name: ALL[name], "other": INT}
    for first in ("null", "1", '"7"', "[]", "{}"):
        message = f'{{"{name}":{first},"{name}":null,"other":2}}'.encode()
        batch, exact = (outcome([message], columns, LENIENT, exact_only=e) for e in (False, True))
        assert batch == exact, first


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("options", [JsonOptions(), ISO, LENIENT], ids=["sql", "iso", "lenient"])
def test_both_readers_agree_on_every_odd_text(name: str, options: JsonOptions) -> None:
    for text in TEXTS:
        messages: list[bytes | None] = [f'{{"{name}":{text}}}'.encode()]
        batch, exact = (outcome(messages, {name: ALL[name]}, options, exact_only=e) for e in (False, True))
        assert batch == exact, text
