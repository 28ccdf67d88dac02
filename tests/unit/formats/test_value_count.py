"""What a message does not say becomes NULLs: their number is bounded, whatever the format and the reader."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from millstream.formats.codecs import decoder_of
from millstream.formats.message_decoder import MessageDecoder
from millstream.formats.value_count import MOST_VALUES
from millstream.testing.schema_registry import EmbeddedSchemaRegistry
from tests.unit.formats.conformance.reading import parse_columns
from tests.unit.formats.flink_goldens import bind_format
from tests.unit.formats.test_protobuf import add_fields

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from millstream.formats.decoded import Decoded

WIDTH: Final = 1000
FIELDS: Final = ", ".join(f"c{i} INT" for i in range(WIDTH))
LIST_OF_ROWS: Final = f"a ARRAY<ROW<{FIELDS}>>"


def list_of(item: str, times: int) -> bytes:
    return f"[{','.join([item] * times)}]".encode()


CASES: Final[dict[str, tuple[str, str, Callable[[int], bytes]]]] = {
    "rows": ("json", FIELDS, lambda rows: list_of("{}", rows)),
    "rows in a list": ("json", LIST_OF_ROWS, lambda rows: b'{"a":' + list_of("{}", rows) + b"}"),
    "NULL rows in a list": ("json", LIST_OF_ROWS, lambda rows: b'{"a":' + list_of("null", rows) + b"}"),
    "lists of rows in a list": (
        "json", f"a ARRAY<ARRAY<ROW<{FIELDS}>>>", lambda rows: b'{"a":' + list_of("[{}]", rows) + b"}",
    ),
    "rows in a row": (
        "json", f"a ARRAY<ROW<b ROW<{FIELDS}>>>", lambda rows: b'{"a":' + list_of("{}", rows) + b"}",
    ),
    "rows in a map": (
        "json", f"a MAP<STRING, ROW<{FIELDS}>>", lambda rows: json.dumps({"a": dict.fromkeys(range(rows))}).encode(),
    ),
    "rows of a change": (
        "canal-json", FIELDS, lambda rows: b'{"type":"INSERT","data":' + list_of("{}", rows) + b"}",
    ),
    "old rows of a change": (
        "canal-json", FIELDS,
        lambda rows: b'{"type":"UPDATE","data":%b,"old":%b}' % (list_of("{}", rows // 2), list_of("{}", rows // 2)),
    ),
    "NULL rows in Avro's JSON": (
        "avro", LIST_OF_ROWS, lambda rows: b'{"a":{"array":' + list_of("null", rows) + b"}}",
    ),
}  # fmt: skip


def read(format_: Any, columns: str, message: bytes, *, exact_only: bool = False) -> Decoded:
    named = parse_columns(columns)
    decoder = decoder_of(format_, named, tuple(name for name, _ in named))
    if isinstance(decoder, MessageDecoder):
        decoder._exact_only = exact_only
    return decoder.decode(pa.array([message], pa.binary()), sets_aside=True)


@pytest.mark.parametrize("exact_only", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_missing_fields_are_counted(name: str, *, exact_only: bool) -> None:
    format_, columns, message = CASES[name]
    options = {"avro.encoding": "json"} if format_ == "avro" else {}
    rows = MOST_VALUES // WIDTH
    assert not read(bind_format(format_, options), columns, message(rows), exact_only=exact_only).unreadable
    [found] = read(bind_format(format_, options), columns, message(2 * rows), exact_only=exact_only).unreadable
    assert "values, with a NULL for each field that is missing" in found.text


def test_what_a_message_spells_out_is_not_limited() -> None:
    numbers = b"[" + b",".join([b"1"] * (MOST_VALUES + 1000)) + b"]"
    decoded = read(bind_format("json", {}), "a ARRAY<INT>", b'{"a":' + numbers + b"}", exact_only=True)
    assert decoded.table["a"].combine_chunks().flatten().null_count == 0
    assert len(decoded.table["a"].combine_chunks().flatten()) == MOST_VALUES + 1000


def test_a_message_with_too_many_is_skipped_as_a_whole() -> None:
    lenient = bind_format("json", {"json.ignore-parse-errors": "true"})
    message = b'{"a":' + list_of("{}", 2 * MOST_VALUES // WIDTH) + b"}"
    decoded = read(lenient, LIST_OF_ROWS, message)
    assert (decoded.table.num_rows, decoded.passed_over) == (0, (0,))


def test_repeated_messages_of_protobuf_are_counted(tmp_path: Path) -> None:
    file = FileDescriptorProto(name="wide.proto", package="w", syntax="proto2")
    add_fields(file.message_type.add(name="Item"), "|".join(f"{i + 1} optional int32 c{i}" for i in range(WIDTH)))
    add_fields(file.message_type.add(name="Order"), "1 repeated .w.Item a")
    path = tmp_path / "wide.pb"
    path.write_bytes(FileDescriptorSet(file=[file]).SerializeToString())
    options = {"message-class-name": "w.Wide$Order", "descriptor-file": str(path)}
    format_ = bind_format("protobuf", {f"protobuf.{key}": value for key, value in options.items()})
    rows = MOST_VALUES // WIDTH
    assert not read(format_, LIST_OF_ROWS, b"\x0a\x00" * rows).unreadable
    [found] = read(format_, LIST_OF_ROWS, b"\x0a\x00" * 2 * rows).unreadable
    assert "values, with a NULL for each field that is missing" in found.text


@pytest.mark.parametrize(("of_null", "reason"), [(999, "more than 65536 parts"), (0, "with a NULL for each field")])
def test_items_of_avro_are_counted(of_null: int, reason: str) -> None:
    """Parts that take no bytes, and fields that the table has and the writer lacks."""
    fields = [{"name": "c0", "type": "int"}, *({"name": f"n{i}", "type": "null"} for i in range(of_null))]
    item = {"type": "record", "name": "item", "fields": fields}
    schema = {
        "type": "record",
        "name": "top",
        "fields": [{"name": "a", "type": {"type": "array", "items": item}}],
    }
    with EmbeddedSchemaRegistry() as registry:
        registry.schemas.append(json.dumps(schema))
        format_ = bind_format("avro-confluent", {"avro-confluent.url": registry.url})
        columns = LIST_OF_ROWS if not of_null else "a ARRAY<ROW<c0 INT>>"

        def message(rows: int) -> bytes:
            count = rows << 1
            return struct.pack(">bI", 0, 1) + bytes([count & 0x7F | 0x80, count >> 7]) + b"\2" * rows + b"\0"

        assert not read(format_, columns, message(65 if of_null else 1000)).unreadable
        [found] = read(format_, columns, message(66 if of_null else 2000)).unreadable
        assert reason in found.text
