"""Spark reads binary Avro: for each type Flink's bytes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

import fastavro
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.formats.arrow_types import arrow_type
from millstream.formats.avro_binary import conversion_of
from millstream.formats.avro_format import AvroFormat
from millstream.formats.value_count import ValueCount
from millstream.spark.avro_halves import avro_struct, avro_struct_with_bytes, with_avro
from millstream.spark.job_errors import TableHalf
from tests.fuzz.binary_messages import varint
from tests.unit.formats.conformance.reading import parse_columns, plain
from tests.unit.formats.conformance.written_values import ALL, NEWER_AVRO, Written

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from millstream.sql.types import DataType

_VALUE: Final = TableHalf("orders", "value", "avro")


@pytest.mark.parametrize(
    ("cases", "legacy"),
    [([case for case in ALL if case.avro], True), (list(NEWER_AVRO), False)],
    ids=["legacy mapping", "newer mapping"],
)
def test_each_type(spark: SparkSession, cases: list[Written], legacy: bool) -> None:  # noqa: FBT001
    declared = ", ".join(f"c{at} {case.type}" for at, case in enumerate(cases))
    columns = parse_columns(declared)
    messages = _messages(spark, [bytes.fromhex("".join(case.avro or "" for case in cases))])

    decoded = with_avro(messages, "value", AvroFormat(legacy), columns)
    read = decoded.select(avro_struct(_VALUE, columns).alias("row")).select("row.*").toArrow()
    for at, (case, (name, type_)) in enumerate(zip(cases, columns, strict=True)):
        found = read.column(at).cast(arrow_type(type_)).to_pylist()[0]
        assert plain(found, type_) == plain(dict(case.read).get("avro", case.value), type_), (name, str(case))


def test_bytes_that_are_no_record_fail(spark: SparkSession) -> None:
    columns = parse_columns("a INT, b STRING")
    messages = spark.sql("SELECT X'02' AS value, 't' AS topic, 0 AS partition, 0L AS offset")
    with pytest.raises(Exception, match=r"Failed to deserialize Avro record\."):
        _rows(messages, columns, avro_struct(_VALUE, columns)).select(F.col("row.a")).collect()


_TEXTS: Final = (
    b"abc",
    "ä€𝄞".encode(),
    b"\xff\xfeabc",
    b"\xc3",
    b"a\xed\xa0\x80b",
    b"\xed\xa0",
    b"\xf0\x9f\x98",
    b"\xc0\xaf",
    b"",
)
_TEXT: Final = ["null", "bytes"]
_SCHEMA: Final = {
    "type": "record",
    "name": "record",
    "fields": [
        {"name": "s", "type": _TEXT},
        {"name": "a", "type": ["null", {"type": "array", "items": _TEXT}]},
        {"name": "m", "type": ["null", {"type": "map", "values": _TEXT}]},
        {"name": "r", "type": ["null", {"type": "record", "name": "x", "fields": [{"name": "x", "type": _TEXT}]}]},
        {"name": "n", "type": ["null", {"type": "array", "items": ["null", {"type": "map", "values": [
            "null", {"type": "record", "name": "y", "fields": [{"name": "y", "type": _TEXT}]}]}]}]},
    ],
}  # fmt: skip
_COLUMNS: Final = (
    "s STRING, a ARRAY<STRING>, m MAP<STRING, STRING>, r ROW<x STRING>, n ARRAY<MAP<STRING, ROW<y STRING>>>"
)


@pytest.mark.parametrize("sets_aside", [False, True])
def test_texts_that_are_not_utf8_are_replaced_as_in_java(spark: SparkSession, *, sets_aside: bool) -> None:
    java: Any = spark.sparkContext._jvm
    data = [_datum_with(text) for text in _TEXTS]
    expected = [str(java.java.lang.String(bytearray(text), "UTF-8")) for text in _TEXTS]
    columns = parse_columns(_COLUMNS)
    struct = avro_struct_with_bytes("value", columns) if sets_aside else avro_struct(_VALUE, columns)
    rows = _rows(_messages(spark, data), columns, struct)
    found = rows.select("row.row.*" if sets_aside else "row.*").toArrow()
    found.validate(full=True)
    for row, text in zip(found.to_pylist(), expected, strict=True):
        assert row["s"] == text
        assert row["a"] == [None, text, "ok", text]
        assert dict(row["m"]) == {f"{text}!": text, "none": None}
        assert row["r"] == {"x": text}
        nothing, inner = row["n"]
        assert (nothing, dict(inner)) == (None, {f"{text}!": {"y": text}, "none": None})


def _datum_with(text: bytes) -> bytes:
    """Written with bytes for texts, which look the same; keys of maps, which are always texts, are put in later."""
    marker = "KEY-OF-A-MAP!"
    datum = {
        "s": text,
        "a": [None, text, b"ok", text],
        "m": {marker: text, "none": None},
        "r": {"x": text},
        "n": [None, {marker: {"y": text}, "none": None}],
    }
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(_SCHEMA), datum)
    key = text + b"!"
    assert len(key) < 64  # its length takes one byte
    return stream.getvalue().replace(bytes([2 * len(marker)]) + marker.encode(), bytes([2 * len(key)]) + key)


def test_keys_of_a_map_that_become_the_same_are_one(spark: SparkSession) -> None:
    """As in Flink, which puts them into a map of Java's."""
    columns = parse_columns("m MAP<STRING, INT>")
    message = b"\x02\x04" + b"\x02\xff" + b"\x02\x02" + b"\x02\xfe" + b"\x02\x04" + b"\x00"
    [row] = _rows(_messages(spark, [message]), columns, avro_struct(_VALUE, columns)).select("row.m").collect()
    assert list(row.m) == ["\ufffd"]


@pytest.mark.parametrize(
    ("declared", "before", "after"),
    [
        ("t TIME", b"\x02", b""),
        ("t ARRAY<TIME>", b"\x02\x04\x02\x00\x02", b"\x00"),
        ("t ROW<x INT, y TIME>", b"\x02\x00\x02", b""),
        ("t MAP<STRING, TIME>", b"\x02\x02\x02k\x02", b"\x00"),
    ],
)
def test_times_outside_the_day_are_undecodable(spark: SparkSession, declared: str, before: bytes, after: bytes) -> None:
    columns = parse_columns(declared)
    times = [0, 86_399_999, 86_400_000, -1, 2**31 - 1]
    messages = _messages(spark, [before + _zigzag(time) + after for time in times])
    rows = _rows(messages, columns, avro_struct_with_bytes("value", columns)).select("row.row").collect()
    assert [row.row is not None for row in rows] == [True, True, False, False, False]
    with pytest.raises(Exception, match=r"Failed to deserialize Avro record\."):
        _rows(messages, columns, avro_struct(_VALUE, columns)).select("row.t").collect()


@pytest.mark.parametrize("sets_aside", [False, True])
def test_numbers_that_are_too_large_lose_their_upper_bits_as_in_java(spark: SparkSession, *, sets_aside: bool) -> None:
    columns = parse_columns("t TINYINT, s ARRAY<SMALLINT>")
    numbers = [0, -1, 127, 128, -128, -129, 300, 32_767, 32_768, -32_769, 2**31 - 1, -(2**31)]
    messages = _messages(spark, [b"\x02" + _zigzag(n) + b"\x02\x02\x02" + _zigzag(n) + b"\x00" for n in numbers])
    struct = avro_struct_with_bytes("value", columns) if sets_aside else avro_struct(_VALUE, columns)
    row = "row.row" if sets_aside else "row"
    found = _rows(messages, columns, struct).select(f"{row}.t", f"{row}.s").toArrow().to_pylist()
    narrow = [conversion_of(type_, ValueCount()) for _, type_ in columns]
    assert found == [{"t": narrow[0](n), "s": narrow[1]([n])} for n in numbers]


def _zigzag(number: int) -> bytes:
    return varint((number << 1) ^ (number >> 63))


def _messages(spark: SparkSession, values: list[bytes]) -> DataFrame:
    messages = spark.createDataFrame(pa.table({"value": pa.array(values, pa.binary())}))
    return messages.selectExpr("value", "'t' AS topic", "0 AS partition", "0L AS offset")


def _rows(messages: DataFrame, columns: tuple[tuple[str, DataType], ...], struct: Column) -> DataFrame:
    return with_avro(messages, "value", AvroFormat(), columns).select(struct.alias("row"))
