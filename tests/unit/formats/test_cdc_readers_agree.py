"""The batch reader and the exact reader of change messages must never differ."""

from __future__ import annotations

import json
from typing import Any, Final
from unittest.mock import patch

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from millstream.formats import message_decoder
from millstream.formats.cdc_decode import CdcJsonDecoder
from millstream.formats.cdc_dialect import CANAL, DEBEZIUM, MAXWELL, OGG
from millstream.formats.cdc_format import CdcJsonFormat, CdcOptions
from millstream.formats.decoded import DecodeError
from millstream.formats.json_options import JsonOptions
from millstream.sql.types import INT, STRING, DataType
from tests.unit.formats.random_rows import PAIR, comparable

LENIENT: Final = CdcOptions(JsonOptions(ignore_parse_errors=True))
FORMATS: Final = {
    "debezium": CdcJsonFormat(DEBEZIUM),
    "debezium lenient": CdcJsonFormat(DEBEZIUM, LENIENT),
    "debezium with schema": CdcJsonFormat(DEBEZIUM, CdcOptions(schema_include=True)),
    "canal": CdcJsonFormat(CANAL),
    "canal lenient": CdcJsonFormat(CANAL, LENIENT),
    "canal of some": CdcJsonFormat(CANAL, CdcOptions(database_include="shop.*", table_include="a|b")),
    "maxwell": CdcJsonFormat(MAXWELL),
    "maxwell lenient": CdcJsonFormat(MAXWELL, LENIENT),
    "ogg": CdcJsonFormat(OGG),
    "ogg lenient": CdcJsonFormat(OGG, LENIENT),
}
COLUMNS: Final[tuple[tuple[str, DataType], ...]] = (("id", INT), ("name", STRING), ("pair", PAIR))
OBJECTS: Final[st.SearchStrategy[dict[str, Any]]] = st.dictionaries(
    st.sampled_from(["id", "name", "pair", "other"]),
    st.sampled_from([None, 1, "7", "x", 1.5, True, {"x": 1}, {"name": "n"}, {"x": "2", "y": None}, []]),
    max_size=3,
)
PLAIN_OBJECTS: Final = st.fixed_dictionaries({"id": st.integers(0, 9)}, optional={"name": st.sampled_from("ab")})
ROWS: Final = st.one_of(PLAIN_OBJECTS, PLAIN_OBJECTS, OBJECTS, st.none(), st.just(3))
LISTS: Final = st.one_of(st.lists(PLAIN_OBJECTS, max_size=2), st.lists(ROWS, max_size=2), st.none())
WORDS: Final = {
    dialect.identifier: [*(word for word, _ in dialect.changes), "x", None]
    for dialect in (DEBEZIUM, CANAL, MAXWELL, OGG)
}


@st.composite
def envelopes(draw: st.DrawFn, format_: CdcJsonFormat) -> bytes | None:
    dialect = format_.dialect
    rows = LISTS if dialect is CANAL else ROWS
    envelope: dict[str, Any] = {
        dialect.kind_field: draw(st.sampled_from(WORDS[dialect.identifier])),
        dialect.new_field: draw(rows),
        dialect.old_field: draw(rows),
        "database": draw(st.sampled_from(["shop", "shop2", "x", None, 1])),
        "table": draw(st.sampled_from(["a", "b", "c"])),
        "ts": draw(st.sampled_from([None, 0, 1700000000123, "5"])),
        "ts_ms": draw(st.sampled_from([None, 0, 1700000000123, "x"])),
        "source": draw(st.sampled_from([None, {}, {"db": "d", "ts_ms": 5}, {"table": 7, "ts_ms": "6"}])),
        "current_ts": draw(st.sampled_from([None, "2024-01-02T03:04:05.123456", "2024-1-2", "x"])),
        "op_ts": draw(st.sampled_from([None, "2024-01-02 03:04:05.123456", "2024-1-2 3:4:5"])),
    }
    for field in draw(st.lists(st.sampled_from(list(envelope)), max_size=2)):
        envelope.pop(field, None)
    if format_.options.schema_include:
        envelope = {"schema": draw(st.sampled_from([None, {"a": 1}])), "payload": envelope}
    text = json.dumps(envelope)
    return draw(st.sampled_from([text.encode(), f" {text}\n".encode(), text.encode(), text[:-1].encode(), b"", None]))


@st.composite
def batches(draw: st.DrawFn) -> tuple[CdcJsonFormat, list[bytes | None]]:
    format_ = FORMATS[draw(st.sampled_from(list(FORMATS)))]
    return format_, draw(st.lists(envelopes(format_), max_size=4))


def outcome(format_: CdcJsonFormat, messages: list[bytes | None], metadata: list[str], *, exact: bool) -> object:
    decoder = CdcJsonDecoder(COLUMNS, format_, tuple((f"m{i}", key) for i, key in enumerate(metadata)))
    decoder._exact_only |= exact
    try:
        decoded = decoder.decode(pa.array(messages, pa.binary()))
    except DecodeError as error:
        return error.index, error.text
    decoded.table.validate(full=True)
    origin = None if decoded.origin is None else decoded.origin.to_pylist()
    return comparable(decoded.with_kinds()), origin, decoded.skipped


@given(batches(), st.data(), st.sampled_from([1, 256]))
def test_both_readers_agree(batch: tuple[CdcJsonFormat, list[bytes | None]], data: st.DataObject, small: int) -> None:
    format_, messages = batch
    keys = [offered.key for offered in format_.dialect.metadata]
    metadata = data.draw(st.lists(st.sampled_from(keys), unique=True, max_size=3))
    with patch.object(message_decoder, "_SMALL_BATCH", small):
        by_batch = outcome(format_, messages, metadata, exact=False)
    assert by_batch == outcome(format_, messages, metadata, exact=True)


UPDATES: Final = st.sampled_from(
    [
        '{"type":"update","data":{"id":1,"name":"b"},"old":{"name":null}}',
        '{"type":"update","data":{"id":1,"name":"b"},"old":{"name":"a"},"x":null}',
        '{"type":"update","data":{"id":1,"name":"b"},"old":{"other":{"name":1}}}',
        '{"type":"update","data":{"id":1,"old":{"name":1}},"old":{"pair":null}}',
        '{"type":"\\u0075pdate","data":{"id":1,"name":"b"},"old":{"name":null}}',
        '{"type":"update","data":{"id":1,"id":2},"old":{"name":"a","name":null}}',
        '{"type":"update","data":{"id":1},"\\u006fld":{"name":null}}',
    ]
)


@given(st.lists(UPDATES, min_size=1, max_size=3))
@example(['{"type":"\\u0075pdate","data":{"id":1,"name":"b"},"old":{"name":null}}'])
def test_both_readers_agree_on_what_is_old(texts: list[str]) -> None:
    messages: list[bytes | None] = [text.encode() for text in texts]
    batch, exact = (outcome(CdcJsonFormat(MAXWELL), messages, [], exact=e) for e in (False, True))
    assert batch == exact
