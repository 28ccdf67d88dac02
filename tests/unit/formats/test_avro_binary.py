"""Avro data by the schema of the table, as Flink writes it."""

from __future__ import annotations

import io
import re
from decimal import Decimal
from typing import Any, Final

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given

from millstream.formats.arrow_types import arrow_schema
from millstream.formats.avro_binary import AvroData, _without_logical_types, conversion_of, data_of, row_conversion
from millstream.formats.avro_json import AvroJsonDecoder, AvroJsonEncoder
from millstream.formats.avro_schema import avro_schema, same_shape
from millstream.formats.raw_codec import text_of
from millstream.formats.value_count import ValueCount
from millstream.sql.types import BIGINT, INT, STRING, DataType, TypeRoot, decimal
from tests.unit.formats.conformance.reading import parse_columns
from tests.unit.formats.flink_goldens import columns_of, goldens, literal, name_of, parts
from tests.unit.formats.random_rows import INTS, PAIR, SCALARS, comparable, tables

MILLIS = {name: DataType(type_.root, precision=3) for name, type_ in SCALARS.items() if name in ("ts", "tm")}
CARRIED = {name: type_ for name, type_ in SCALARS.items() if name != "tz"} | MILLIS | {"ar": INTS, "ro": PAIR}


@pytest.mark.parametrize("golden", goldens("sink", "avro"), ids=name_of)
def test_writes_the_bytes_of_flink(golden: dict[str, Any]) -> None:
    columns = columns_of(golden["columns"])
    rows = [
        [literal(text, type_) for text, (_, type_) in zip(parts(row), columns, strict=True)] for row in golden["rows"]
    ]
    arrays = [
        pa.array(values, field.type)
        for values, field in zip(zip(*rows, strict=True), arrow_schema(columns), strict=True)
    ]
    table = pa.Table.from_arrays(arrays, schema=arrow_schema(columns))
    data = AvroData(avro_schema(columns))
    written = [data.write(datum) for datum in data_of(table, columns)]
    assert written == [bytes.fromhex(text) for text in golden["values_hex"]]
    read = row_conversion(columns, ValueCount())
    again = pa.Table.from_pylist([read(data.read(datum)) for datum in written], schema=arrow_schema(columns))
    assert comparable(again) == comparable(table)


@given(tables(CARRIED))
def test_what_is_written_is_read_again(rows: tuple[tuple[tuple[str, DataType], ...], pa.Table]) -> None:
    columns, table = rows
    millis = pa.timestamp("ms")
    for name in set(table.column_names) & {"ts"}:
        cut = table[name].cast(millis, safe=False).cast(pa.timestamp("us"))
        table = table.set_column(table.column_names.index(name), name, cut)
    data, read = AvroData(avro_schema(columns)), row_conversion(columns, ValueCount())
    again = [read(data.read(data.write(datum))) for datum in data_of(table, columns)]
    assert comparable(pa.Table.from_pylist(again, schema=arrow_schema(columns))) == comparable(table)


def test_a_writer_may_have_other_fields_and_narrower_numbers() -> None:
    writer = {"type": "record", "name": "w", "fields": [{"name": "x", "type": "string"}, {"name": "n", "type": "int"}]}
    row = row_conversion((("n", BIGINT), ("d", SCALARS["do"]), ("missing", STRING)), ValueCount())
    datum = AvroData(writer).write({"x": "y", "n": 7})
    assert row(AvroData(writer).read(datum)) == {"n": 7, "d": None, "missing": None}
    with pytest.raises(ValueError, match='no field "must"'):
        row_conversion((("must", INT.not_null()),), ValueCount())(AvroData(writer).read(datum))


def test_numbers_that_do_not_fit() -> None:
    assert conversion_of(SCALARS["ti"], ValueCount())(300) == 44  # Java keeps the lowest byte
    for type_, value in ((INT, 2**31), (SCALARS["ts"], 2**62), (STRING, 7), (SCALARS["do"], True)):
        with pytest.raises(ValueError, match=r"out of range|a value of the writer is"):
            conversion_of(type_, ValueCount())(value)


def test_schemas_are_compared_by_what_they_say() -> None:
    columns = (("a", INT), ("r", PAIR), ("d", SCALARS["de"]), ("m", DataType(TypeRoot.MAP, key=STRING, element=INTS)))
    derived = avro_schema(columns)
    assert same_shape(avro_schema(columns, "other.name"), derived)
    assert not same_shape(avro_schema(columns[:-1]), derived)
    assert not same_shape(avro_schema((("a", INT.not_null()), *columns[1:])), derived)


def test_the_newer_mapping_of_timestamps() -> None:
    columns = (("a", DataType(TypeRoot.TIMESTAMP, precision=6)), ("b", DataType(TypeRoot.TIMESTAMP_LTZ, False, 3)))
    first, second = avro_schema(columns, legacy_timestamps=False)["fields"]
    assert first["type"] == ["null", {"type": "long", "logicalType": "local-timestamp-micros"}]
    assert second["type"] == {"type": "long", "logicalType": "timestamp-millis"}


@given(tables(CARRIED))
def test_what_is_written_as_json_is_read_again(rows: tuple[tuple[tuple[str, DataType], ...], pa.Table]) -> None:
    """The JSON encoding says what the binary one says, and another reader of it agrees."""
    columns, table = rows
    schema = avro_schema(columns)
    messages = AvroJsonEncoder(columns, legacy_timestamps=True).encode(table)
    decoder = AvroJsonDecoder(columns, tuple(table.column_names), legacy_timestamps=True)
    again = data_of(decoder.decode(messages).table, columns)
    assert [AvroData(schema).write(d) for d in again] == [AvroData(schema).write(d) for d in data_of(table, columns)]
    if not {"fl", "do"} & set(table.column_names):  # fastavro reads no Infinity in quotes
        plain = fastavro.parse_schema(_without_logical_types(schema))
        read = [next(iter(fastavro.json_reader(io.StringIO(m.decode()), plain))) for m in messages.to_pylist()]
        assert [AvroData(schema).write(d) for d in read] == [AvroData(schema).write(d) for d in again]


@pytest.mark.parametrize(
    "text", ["123456789012345678901234567890123456.78", "-999999999999999999999999999999999999.99"]
)
def test_every_digit_of_a_decimal_is_kept(text: str) -> None:
    columns = (("d", decimal(38, 2)),)
    table = pa.table({"d": pa.array([Decimal(text)], pa.decimal128(38, 2))})
    data, read = AvroData(avro_schema(columns)), row_conversion(columns, ValueCount())
    [datum] = data_of(table, columns)
    unscaled = int(text.replace(".", ""))
    assert int.from_bytes(datum["d"], "big", signed=True) == unscaled  # type: ignore[arg-type]
    assert read(data.read(data.write(datum))) == {"d": Decimal(text)}
    messages = AvroJsonEncoder(columns, legacy_timestamps=True).encode(table)
    decoder = AvroJsonDecoder(columns, ("d",), legacy_timestamps=True)
    assert decoder.decode(messages).table["d"].to_pylist() == [Decimal(text)]


def test_a_record_that_holds_itself_is_read_as_far_as_a_stack_bears() -> None:
    node = {"type": "record", "name": "n", "fields": [{"name": "next", "type": ["null", "n"]}]}
    data = AvroData(node)
    assert data.read(b"\2" * 3 + b"\0") == {"next": {"next": {"next": {"next": None}}}}
    with pytest.raises(ValueError, match="levels deep"):
        data.read(b"\2" * 1000 + b"\0")


def test_items_of_no_bytes_are_counted_and_others_are_not() -> None:
    """A type that is used twice, as in messages of Debezium, is no reason to walk through each of them."""
    nulls = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": "null"}}]}
    assert AvroData(nulls).read(b"\6\0") == {"a": [None] * 3}
    row = {"type": "record", "name": "v", "fields": [{"name": "x", "type": "int"}]}
    change = {
        "type": "record",
        "name": "c",
        "fields": [{"name": "before", "type": ["null", row]}, {"name": "after", "type": ["null", "v"]}],
    }
    assert AvroData(nulls)._bounds._needs_walk(2)
    assert not AvroData(change)._bounds._needs_walk(1_000_000)
    assert AvroData(change).read(b"\0\2\4") == {"before": None, "after": {"x": 2}}


CORRUPT: Final = {
    "last branch": ("01", "The union has no branch -1"),
    "first branch from the end": ("03", "The union has no branch -2"),
    "branch behind the last": ("04", "The union has no branch 2"),
    "branch far before the first": ("09", "The union has no branch -5"),
    "last symbol": ("0001", "The enum has no symbol -1"),
    "symbol behind the last": ("0006", "The enum has no symbol 3"),
    "branch of a named type": ("00000201", "The union has no branch -1"),
    "symbol of a named type": ("0000020001", "The enum has no symbol -1"),
    "number without an end": ("02" + "ff" * 1000 + "0100", "A number takes more than 10 bytes"),
    "number of eleven bytes": ("02" + "80" * 10 + "0000", "A number takes more than 10 bytes"),
    "number without an end behind a text": (
        "000000" + "00" * 8 + "1e" + "e4bda0" * 5 + "ff" * 1000 + "01",
        "A number takes more than 10 bytes",
    ),
    "double cut off": ("00000000000000", "8 bytes are announced, but only 4 are left"),
    "nothing": ("", "The record ends too early"),
    "text of a negative length": ("000000" + "00" * 8 + "01", "-1 bytes are announced, but only 0 are left"),
}


def record(called: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": called, "fields": [{"name": key, "type": type_} for key, type_ in fields.items()]}


@pytest.mark.parametrize("name", CORRUPT)
def test_corrupt_data_are_no_datum(name: str) -> None:
    data, reason = CORRUPT[name]
    enum = {"type": "enum", "name": "e", "symbols": ["A", "B", "C"]}
    inner = record("i", u=["null", "long"], e=enum)
    schema = record("r", i=inner, j=["null", "i"], d="double", s="string", l="long")
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}"):
        AvroData(schema).read(bytes.fromhex(data))


def test_texts_of_many_bytes_are_read() -> None:
    data = AvroData(record("r", s="string", l="long"))
    datum = {"s": "Äé你好世界\U0001f600" * 20, "l": -(1 << 60)}
    assert data.read(data.write(datum)) == datum


REPLACED: Final = {
    "fffe616263": "\ufffd\ufffdabc", "c3": "\ufffd", "61c3": "a\ufffd", "c361e9": "\ufffda\ufffd", "eda080": "\ufffd",
    "eda080edb080": "\ufffd\ufffd", "eda0": "\ufffd", "eda061": "\ufffda", "ed": "\ufffd", "ed41": "\ufffdA",
    "f09f98": "\ufffd", "f4908080": "\ufffd" * 4, "c0af": "\ufffd" * 2, "e080af": "\ufffd" * 3,
    "e2826180": "\ufffda\ufffd",
}  # fmt: skip
"""Bytes, and the text that Java makes of them, and so Flink."""


@pytest.mark.parametrize(("data", "text"), REPLACED.items())
def test_texts_that_are_not_utf8_are_read_as_in_java(data: str, text: str) -> None:
    content = bytes.fromhex(data)
    written = bytes([2 * len(content)]) + content
    schema = record("r", s=["null", "string"], m={"type": "map", "values": "string"})
    found = AvroData(schema).read(b"\x02" + written + b"\x02" + written + written + b"\x00")
    assert found == {"s": text, "m": {text: text}}
    assert text_of(content, "utf-8") == text


@pytest.mark.parametrize("millis", [-1, 86_400_000, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("encoding", ["binary", "json"])
def test_times_outside_the_day_cannot_be_read(millis: int, encoding: str) -> None:
    columns = parse_columns("t ARRAY<TIME>")
    if encoding == "json":
        decoder = AvroJsonDecoder(columns, ("t",), legacy_timestamps=True)
        messages = [f'{{"t":{{"array":[{{"int":0}},{{"int":{time}}}]}}}}'.encode() for time in (86_399_999, millis)]
        decoded = decoder.decode(pa.array(messages), sets_aside=True)
        assert decoded.table.to_pylist() == [{"t": [0, 86_399_999]}]
        assert [f"{millis} is not a time of the day" in found.text for found in decoded.unreadable] == [True]
        return
    convert = row_conversion(columns, ValueCount())
    assert convert({"t": [0, 86_399_999]}) == {"t": [0, 86_399_999]}
    with pytest.raises(ValueError, match=f"{millis} is not a time of the day"):
        convert({"t": [0, millis]})


@pytest.mark.parametrize("schema", [["null", "int"], "int", {"type": "array", "items": "int"}, {"type": "int"}])
def test_a_root_may_be_no_record(schema: Any) -> None:
    data = AvroData(schema)
    datum: Any = [7, 8] if isinstance(schema, dict) and schema["type"] == "array" else 7
    assert data.read(data.write(datum)) == datum
    with pytest.raises(ValueError, match="The union has no branch -1" if isinstance(schema, list) else "too early"):
        data.read(b"\1" if isinstance(schema, list) else b"")
