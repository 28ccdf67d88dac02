"""Messages that cannot be read are set aside, each once and with its reason, and the others are read as ever."""

from __future__ import annotations

import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import INSERT_ONLY
from millstream.formats.codecs import decoder_of
from millstream.formats.confluent_format import ConfluentAvroFormat, ConfluentOptions, RegistryOptions
from millstream.formats.decoded import Unreadable, UnreadableMessages, preview
from millstream.formats.message_rows import KEY, VALUE, MessageHalf, MessageRows
from millstream.formats.one_by_one import OneByOne
from millstream.formats.schema_registry import RegistryError
from millstream.sql.types import INT, STRING
from millstream.testing.schema_registry import EmbeddedSchemaRegistry
from tests.unit.formats.flink_goldens import bind_format

if TYPE_CHECKING:
    from millstream.formats.decoded import Decoder

ID = (("id", INT),)
GOOD_AND_BROKEN = {
    "json": (b'{"id":1}', b'{"id":"x"}'),
    "csv": (b"1", b"1,2"),
    "raw": (b"\0\0\0\1", b"\0"),
    "avro": (b"\2\2", b"\4\2"),
    "debezium-json": (b'{"op":"c","after":{"id":1}}', b'{"after":{"id":1}}'),
    "canal-json": (b'{"type":"INSERT","data":[{"id":1}]}', b'{"type":"INSERT","data":[{"id":1},{"id":"x"}]}'),
    "maxwell-json": (b'{"type":"insert","data":{"id":1}}', b'{"type":"?","data":{"id":1}}'),
    "ogg-json": (b'{"op_type":"I","after":{"id":1}}', b'{"op_type":"U","after":{"id":1}}'),
}


def json_half(name: str, **options: str) -> MessageHalf:
    written = {f"json.{key.replace('_', '-')}": value for key, value in options.items()}
    return MessageHalf(decoder_of(bind_format("json", written), ((name, INT),), (name,)), (name,))


def messages(pairs: list[tuple[bytes | None, bytes | None]]) -> pa.RecordBatch:
    keys, values = zip(*pairs, strict=True)
    return pa.RecordBatch.from_pydict({KEY: pa.array(keys, pa.binary()), VALUE: pa.array(values, pa.binary())})


@pytest.mark.parametrize("name", GOOD_AND_BROKEN)
@given(data=st.lists(st.sampled_from(["good", "broken", "none"]), max_size=8))
def test_each_broken_one_and_only_those(name: str, data: list[str]) -> None:
    good, broken = GOOD_AND_BROKEN[name]
    contents = {"good": good, "broken": broken, "none": None}
    decoder: Decoder = decoder_of(bind_format(name, {}), ID, ("id",))
    decoded = decoder.decode(pa.array([contents[kind] for kind in data], pa.binary()), sets_aside=True)
    rows: dict[str, list[int | None]] = {"good": [1], "broken": [], "none": [None] if name == "raw" else []}
    assert decoded.table["id"].to_pylist() == [row for kind in data for row in rows[kind]]
    origin = list(range(len(data))) if decoded.origin is None else decoded.origin.to_pylist()
    assert origin == [index for index, kind in enumerate(data) for _ in rows[kind]]
    assert [found.index for found in decoded.unreadable] == [i for i, kind in enumerate(data) if kind == "broken"]
    assert all(preview(broken) in found.text for found in decoded.unreadable)


def test_a_line_of_many_takes_its_message_with_it() -> None:
    decoder = decoder_of(bind_format("raw", {"raw.line-delimiter": "\n"}), ID, ("id",))
    decoded = decoder.decode(pa.array([b"abcd\nef", b"abcd"], pa.binary()), sets_aside=True)
    assert decoded.table.num_rows == 1
    assert [found.index for found in decoded.unreadable] == [0]


def test_a_message_whose_key_and_value_are_broken_is_one() -> None:
    rows = MessageRows(("k", "v"), json_half("v"), json_half("k"), sets_aside=True)
    read = rows.read(messages([(b"{", b"["), (b'{"k":1}', b'{"v":1}'), (b"{", b'{"v":2}'), (b'{"k":3}', b"[")]))
    assert read.table.to_pylist() == [{"k": 1, "v": 1}]
    assert [found.index for found in read.unreadable] == [0, 2, 3]
    assert "JSON '['" in read.unreadable[0].text
    assert "In the key: Failed to deserialize JSON '{'" in read.unreadable[0].text


def test_a_tombstone_with_a_broken_key_deletes_nothing() -> None:
    rows = MessageRows(("k", "v"), json_half("v"), json_half("k"), with_kinds=True, upserts=True, sets_aside=True)
    read = rows.read(messages([(b"{", None), (b'{"k":1}', None)]))
    assert (read.table["k"].to_pylist(), [found.index for found in read.unreadable]) == ([1], [0])


def test_a_message_that_is_skipped_for_both_halves_counts_once() -> None:
    lenient = {"ignore_parse_errors": "true"}
    rows = MessageRows(("k", "v"), json_half("v", **lenient), json_half("k", **lenient))
    assert rows.read(messages([(b"{", b"["), (b"{", b'{"v":1}'), (b'{"k":1}', b'{"v":1}')])).skipped == 2


def test_a_registry_that_does_not_answer_is_no_fault_of_a_message() -> None:
    with EmbeddedSchemaRegistry() as registry:
        url = registry.url
        format_ = ConfluentAvroFormat(ConfluentOptions(RegistryOptions(url)), "avro-confluent", INSERT_ONLY)
        message = pa.array([b"\0\0\0\x27\x0f", b"\1"], pa.binary())
        decoded = decoder_of(format_, (("name", STRING),), ("name",)).decode(message, sets_aside=True)
        assert [found.index for found in decoded.unreadable] == [0, 1]
        assert "Could not find schema with id 9999" in decoded.unreadable[0].text
    with pytest.raises(RegistryError, match="No answer"):
        decoder_of(format_, (("name", STRING),), ("name",)).decode(message, sets_aside=True)


@pytest.mark.parametrize(
    ("payload", "size", "expected"),
    [
        (b"a\tb", None, "a\tb"),
        (b"\0\xff", None, "0x00ff"),
        ("é".encode(), None, "é"),
        (b"a\0", None, "0x6100"),
        (b"x" * 501, None, f"{'x' * 500}… (501 bytes)"),
        (b"\0" * 101, None, f"0x{'00' * 100}… (101 bytes)"),
        ("aé".encode()[:-1], 3, "a… (3 bytes)"),
        ("aé".encode()[:-1], None, "0x61c3"),
        (b"", None, ""),
    ],
)
def test_texts_are_shown_as_they_are_and_other_bytes_in_hex(payload: bytes, size: int | None, expected: str) -> None:
    assert preview(payload, size) == expected


def test_what_arrow_has_no_place_for_is_the_fault_of_its_message_alone() -> None:
    schema = pa.schema([("n", pa.int8())])
    values = pa.array([b"1", b"300", b"x", b"2"])
    unreadable = UnreadableMessages(sets_aside=True)
    reading = OneByOne(schema, lambda message: ([[int(message)]], True), lambda message, _: message.decode())
    read = reading.read(values, range(4), unreadable)
    assert read.table.to_pydict() == {"n": [1, 2]}
    assert read.origin.tolist() == [0, 3]
    assert unreadable.all() == (Unreadable(1, "300"), Unreadable(2, "x"))
    lenient = replace(reading, ignores_errors=True).read(values, range(4), UnreadableMessages(sets_aside=False))
    assert (lenient.table.to_pydict(), lenient.passed_over) == ({"n": [1, 2]}, (1, 2))


@pytest.mark.parametrize("error", [MemoryError(), RegistryError("No answer")])
def test_what_is_no_fault_of_a_message_is_raised(error: Exception) -> None:
    def fail(_: bytes) -> tuple[list[list[object]], bool]:
        raise error

    reading = OneByOne(pa.schema([]), fail, lambda *_: "never said", ignores_errors=True)
    with pytest.raises(type(error)):
        reading.read(pa.array([b"1"]), [0], UnreadableMessages(sets_aside=True))


def test_a_registry_that_answers_with_something_else_is_no_fault_of_a_message() -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        options = ConfluentOptions(RegistryOptions(f"http://127.0.0.1:{server.server_port}"))
        format_ = ConfluentAvroFormat(options, "avro-confluent", INSERT_ONLY)
        with pytest.raises(RegistryError, match="without a schema"):
            decoder_of(format_, (("name", STRING),), ("name",)).decode(pa.array([bytes(5)]), sets_aside=True)


def test_a_reason_does_not_repeat_a_long_message() -> None:
    decoder = decoder_of(bind_format("csv", {}), ID, ("id",))
    [found] = decoder.decode(pa.array([b"x" * 100_000]), sets_aside=True).unreadable
    assert len(found.text) < 3000
