"""Each SQL type in each format: the bytes that are written, and what is read of them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from millstream.changelog import KIND, RowKind
from millstream.formats.arrow_types import arrow_schema
from millstream.formats.avro_binary import AvroData, data_of, row_conversion
from millstream.formats.avro_schema import avro_schema
from millstream.formats.codecs import encoder_of
from millstream.formats.value_count import ValueCount
from millstream.testing.schema_registry import EmbeddedSchemaRegistry
from tests.unit.formats.conformance.reading import parse_columns, plain, rows_read
from tests.unit.formats.conformance.written_values import ALL, NEWER_AVRO, Written
from tests.unit.formats.flink_goldens import bind_format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.formats.conformance.reading import Columns

CHANGES = {
    "debezium-json": ('{"before":null,"after":ROW,"op":"c"}', '{"before":ROW,"after":null,"op":"d"}'),
    "ogg-json": ('{"before":null,"after":ROW,"op_type":"I"}', '{"before":ROW,"after":null,"op_type":"D"}'),
    "canal-json": ('{"data":[ROW],"type":"INSERT"}', '{"data":[ROW],"type":"DELETE"}'),
    "maxwell-json": ('{"data":ROW,"type":"insert"}', '{"data":ROW,"type":"delete"}'),
}


def row_of(case: Written) -> tuple[Columns, pa.Table]:
    columns = parse_columns(f"v {case.type}")
    return columns, pa.table([pa.array([case.value], type_) for type_ in arrow_schema(columns).types], ["v"])


def read_as(case: Written, format_: str) -> Any:
    """What comes back: the value, unless the format loses something of it."""
    columns, _ = row_of(case)
    return plain(dict(case.read).get(format_, case.value), columns[0][1])


@pytest.fixture(scope="module")
def registry() -> Iterator[EmbeddedSchemaRegistry]:
    with EmbeddedSchemaRegistry() as running:
        yield running


@pytest.mark.parametrize("case", ALL, ids=str)
def test_json(case: Written) -> None:
    columns, table = row_of(case)
    format_ = bind_format("json", {})
    message = f'{{"v":{case.json}}}'.encode()
    assert encoder_of(format_, columns).encode(table).to_pylist() == [message]
    for exact_only in (False, True):
        assert rows_read(format_, columns, [message], exact_only=exact_only) == [["+I", read_as(case, "json")]]


@pytest.mark.parametrize("case", ALL, ids=str)
@pytest.mark.parametrize("identifier", CHANGES)
def test_changes_in_json(identifier: str, case: Written) -> None:
    columns, table = row_of(case)
    format_ = bind_format(identifier, {})
    messages = [text.replace("ROW", f'{{"v":{case.json}}}').encode() for text in CHANGES[identifier]]
    kinds = [RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE]
    rows = pa.concat_tables([table] * 4).append_column(KIND, pa.array(kinds, pa.int8()))
    assert encoder_of(format_, columns).encode(rows).to_pylist() == [messages[i] for i in (0, 1, 0, 1)]
    value = read_as(case, "json")
    for exact_only in (False, True):
        assert rows_read(format_, columns, list(messages), exact_only=exact_only) == [["+I", value], ["-D", value]]


@pytest.mark.parametrize("case", [case for case in ALL if case.csv is not None], ids=str)
def test_csv(case: Written) -> None:
    columns, table = row_of(case)
    columns = (*columns, *parse_columns("n INT"))
    format_ = bind_format("csv", {"csv.null-literal": "~"})
    message = f"{case.csv},1".encode()
    rows = table.append_column("n", pa.array([1], pa.int32()))
    assert encoder_of(format_, columns).encode(rows).to_pylist() == [message]
    for exact_only in (False, True):
        assert rows_read(format_, columns, [message], exact_only=exact_only) == [["+I", read_as(case, "csv"), 1]]


@pytest.mark.parametrize(
    ("case", "legacy"),
    [(c, True) for c in ALL if c.avro] + [(c, False) for c in NEWER_AVRO],
    ids=str,
)
def test_avro(case: Written, legacy: bool) -> None:  # noqa: FBT001
    columns, table = row_of(case)
    schema = avro_schema(columns, legacy_timestamps=legacy)
    message = bytes.fromhex(case.avro or "")
    assert [AvroData(schema).write(datum) for datum in data_of(table, columns)] == [message]
    found = pa.Table.from_pylist(
        [row_conversion(columns, ValueCount())(AvroData(schema).read(message))], arrow_schema(columns)
    )
    assert plain(found["v"].to_pylist()[0], columns[0][1]) == read_as(case, "avro")


@pytest.mark.parametrize(
    ("case", "legacy"),
    [(c, True) for c in ALL if c.avro_json] + [(c, False) for c in NEWER_AVRO],
    ids=str,
)
def test_avro_in_json(case: Written, legacy: bool) -> None:  # noqa: FBT001
    columns, table = row_of(case)
    format_ = bind_format("avro", {"avro.encoding": "json", "avro.timestamp_mapping.legacy": str(legacy).lower()})
    message = f'{{"v":{case.avro_json}}}'.encode()
    assert encoder_of(format_, columns).encode(table).to_pylist() == [message]
    assert rows_read(format_, columns, [message]) == [["+I", read_as(case, "avro")]]


@pytest.mark.parametrize("case", [case for case in ALL if case.avro], ids=str)
def test_avro_with_a_registry(case: Written, registry: EmbeddedSchemaRegistry) -> None:
    columns, table = row_of(case)
    options = {"avro-confluent.url": registry.url, "avro-confluent.subject": "s"}
    format_ = bind_format("avro-confluent", options)
    [message] = encoder_of(format_, columns).encode(table).to_pylist()
    magic, number = struct.unpack(">bI", message[:5])
    assert (magic, message[5:].hex()) == (0, case.avro)
    assert registry.schemas[number - 1]
    assert rows_read(format_, columns, [message]) == [["+I", read_as(case, "avro")]]


@pytest.mark.parametrize("case", [case for case in ALL if case.avro], ids=str)
def test_changes_in_avro(case: Written, registry: EmbeddedSchemaRegistry) -> None:
    columns, table = row_of(case)
    name = "debezium-avro-confluent"
    format_ = bind_format(name, {f"{name}.url": registry.url, f"{name}.subject": "d"})
    kinds = [RowKind.INSERT, RowKind.DELETE]
    rows = pa.concat_tables([table] * 2).append_column(KIND, pa.array(kinds, pa.int8()))
    put_in, taken_back = encoder_of(format_, columns).encode(rows).to_pylist()
    # A union with NULL around the message, then before, after and op, each with its branch.
    assert put_in[5:].hex() == f"020002{case.avro}020263"
    assert taken_back[5:].hex() == f"0202{case.avro}00020264"
    value = read_as(case, "avro")
    assert rows_read(format_, columns, [put_in, taken_back]) == [["+I", value], ["-D", value]]


@pytest.mark.parametrize("case", [case for case in ALL if case.raw is not None], ids=str)
def test_raw(case: Written) -> None:
    columns, table = row_of(case)
    format_ = bind_format("raw", {})
    message = bytes.fromhex(case.raw or "")
    assert encoder_of(format_, columns).encode(table).to_pylist() == [message]
    assert rows_read(format_, columns, [message]) == [["+I", read_as(case, "raw")]]


@pytest.mark.parametrize("type_", sorted({case.type for case in ALL if "NOT NULL" not in case.type.split("<")[0]}))
def test_null(type_: str) -> None:
    case = next(case for case in ALL if case.type == type_)
    columns = parse_columns(f"v {type_}, n INT")
    table = pa.table([pa.nulls(1, arrow_schema(columns).field("v").type), pa.array([1], pa.int32())], ["v", "n"])
    written = {"json": '{"v":null,"n":1}', "csv": "~,1" if case.csv is not None else None}
    for identifier, message in written.items():
        if message is None:
            continue
        format_ = bind_format(identifier, {"csv.null-literal": "~"})
        assert encoder_of(format_, columns).encode(table).to_pylist() == [message.encode()]
        if identifier == "json" or not type_.startswith(("ARRAY", "ROW")):  # there the literal is the one element
            assert rows_read(format_, columns, [message.encode()]) == [["+I", None, 1]]
    if case.avro:
        schema = avro_schema(columns)
        assert [AvroData(schema).write(datum).hex() for datum in data_of(table, columns)] == ["000202"]
        format_ = bind_format("avro", {"avro.encoding": "json"})
        in_json = b'{"v":null,"n":{"int":1}}'
        assert encoder_of(format_, columns).encode(table).to_pylist() == [in_json]
        assert rows_read(format_, columns, [in_json]) == [["+I", None, 1]]
    if case.raw is not None:
        assert encoder_of(bind_format("raw", {}), columns[:1]).encode(table.select(["v"])).to_pylist() == [None]
        assert rows_read(bind_format("raw", {}), columns[:1], [None]) == [["+I", None]]
