"""What Flink 2.2 wrote and read, recorded from a real cluster."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pytest

from millstream.changelog import RowKind
from millstream.formats.arrow_types import arrow_schema
from millstream.formats.codecs import decoder_of, encoder_of
from millstream.formats.decoded import DecodeError
from millstream.formats.message_decoder import MessageDecoder
from tests.unit.formats.flink_goldens import bind_format, columns_of, goldens, literal, name_of, parts, show

CDC: Final = ("debezium-json", "canal-json", "maxwell-json", "ogg-json")
# The causes of broken syntax are Jackson's own words; the others are Flink's.
FLINKS_OWN: Final = (
    "formats.json.JsonParseException", "JsonMappingException", "java.lang.RuntimeException", "NumberFormatException",
    "CsvReadException", "Missing closing quote", "IllegalStateException",
)  # fmt: skip


@pytest.mark.parametrize("golden", goldens("sink", "json", "csv", *CDC), ids=name_of)
def test_encodes_the_bytes_of_flink(golden: dict[str, Any]) -> None:
    columns = columns_of(golden["columns"])
    rows = [
        [literal(text, type_) for text, (_, type_) in zip(parts(row), columns, strict=True)] for row in golden["rows"]
    ]
    arrays = [
        pa.array(values, field.type)
        for values, field in zip(zip(*rows, strict=True), arrow_schema(columns), strict=True)
    ]
    table = pa.Table.from_arrays(arrays, schema=arrow_schema(columns))
    messages = encoder_of(bind_format(golden["format"], golden["options"]), columns).encode(table)
    assert messages.to_pylist() == [bytes.fromhex(text) for text in golden["values_hex"]]


@pytest.mark.parametrize("exact_only", [False, True], ids=["batch", "exact"])
@pytest.mark.parametrize("golden", goldens("source", "json", "csv", *CDC), ids=name_of)
def test_decodes_the_rows_of_flink(golden: dict[str, Any], exact_only: bool) -> None:  # noqa: FBT001
    columns = columns_of(golden["columns"])
    format_ = bind_format(golden["format"], golden.get("options", {}))
    decoder = decoder_of(format_, columns, tuple(name for name, _ in columns))
    assert isinstance(decoder, MessageDecoder)
    decoder._exact_only |= exact_only
    messages = pa.array([message.encode() for message in golden["messages"]], pa.binary())
    if "error" not in golden:
        *arrays, kinds = decoder.decode(messages).with_kinds().columns
        values = [
            [show(value, type_) for value in array.to_pylist()]
            for array, (_, type_) in zip(arrays, columns, strict=True)
        ]
        rows = [list(row) for row in zip(*values, strict=True)]
        symbols = [RowKind(kind).symbol for kind in kinds.to_pylist()]
        assert [list(row) for row in zip(symbols, rows, strict=True)] == golden["rows"]
        return
    with pytest.raises(DecodeError) as caught:
        decoder.decode(messages)
    assert caught.value.index == 0
    assert f" '{golden['messages'][0]}'. " in caught.value.text
    if any(name in golden["error"] for name in FLINKS_OWN):
        assert caught.value.text.endswith(golden["error"].split(": ", 1)[1])
