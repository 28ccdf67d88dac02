"""Texts in binary Avro that are not UTF-8 become what Java makes of them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

import fastavro
import pyarrow as pa

from millstream.formats.avro_decode import AvroDecoder
from tests.unit.formats.conformance.reading import parse_columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def test_texts_that_are_not_utf8_are_replaced(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm
    data = [_datum_with(text) for text in _TEXTS]
    expected = [str(java.java.lang.String(bytearray(text), "UTF-8")) for text in _TEXTS]
    columns = parse_columns(_COLUMNS)
    found = AvroDecoder(columns, tuple(name for name, _ in columns)).decode(pa.array(data, pa.binary())).table
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
