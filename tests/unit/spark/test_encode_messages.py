"""Keys and values are encoded column by column, and a row that is not there has no bytes."""

from __future__ import annotations

import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.formats.codecs import encoder_of
from millstream.spark.kafka_sink import encode_with
from millstream.sql.types import INT, STRING
from tests.unit.formats.flink_goldens import bind_format

COLUMNS = (("id", INT), ("name", STRING))
ROWS = [{"id": 1, "name": "a"}, None, {"id": 2, "name": None}, None]


def test_a_retraction_has_a_key_and_no_value() -> None:
    encoders = {
        "key": encoder_of(bind_format("raw", {}), (("id", INT),)),
        "value": encoder_of(bind_format("json", {}), COLUMNS),
    }
    struct = pa.struct([("id", pa.int32()), ("name", pa.string())])
    keys = pa.array([{"id": number} for number in (1, 1, 2, None)], pa.struct([("id", pa.int32())]))
    batch = pa.record_batch({"key": keys, "value": pa.array(ROWS, struct), "topic": ["t"] * 4})
    [encoded] = encode_with(encoders, iter([batch]))
    assert encoded.column("key").to_pylist() == [b"\0\0\0\1", b"\0\0\0\1", b"\0\0\0\2", None]
    assert encoded.column("value").to_pylist() == [b'{"id":1,"name":"a"}', None, b'{"id":2,"name":null}', None]
    assert encoded.column("topic").to_pylist() == ["t"] * 4


def test_a_format_of_changes_tells_the_kind() -> None:
    encoders = {"value": encoder_of(bind_format("maxwell-json", {}), (("id", INT),))}
    rows = [{"id": 1, KIND: kind} for kind in RowKind]
    batch = pa.record_batch({"value": pa.array(rows, pa.struct([("id", pa.int32()), (KIND, pa.int8())]))})
    [encoded] = encode_with(encoders, iter([batch]))
    words = ("insert", "delete", "insert", "delete")
    assert encoded.column("value").to_pylist() == [f'{{"data":{{"id":1}},"type":"{word}"}}'.encode() for word in words]
