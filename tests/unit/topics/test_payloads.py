from __future__ import annotations

from typing import Any

import pytest

from millstream.errors import ScriptError
from millstream.formats.confluent_format import RegistryOptions
from millstream.topics.payloads import Encoding, PayloadReader


@pytest.mark.parametrize(
    ("content", "encoding", "value"),
    [
        (None, Encoding.NONE, None),
        (b"", Encoding.TEXT, ""),
        (b'{"a": [1, null]}', Encoding.JSON, {"a": [1, None]}),
        (b"17", Encoding.JSON, 17),
        (b"null", Encoding.JSON, None),
        ("Zürich\t1".encode(), Encoding.TEXT, "Zürich\t1"),
        (b'{"a": ', Encoding.TEXT, '{"a": '),
        (b"a\x07b", Encoding.BYTES, b"a\x07b"),
        (b"\xff\xfe", Encoding.BYTES, b"\xff\xfe"),
        (b"\x00\x00\x00\x00\x05\x02a", Encoding.BYTES, b"\x00\x00\x00\x00\x05\x02a"),
        (b"[" * 100_000, Encoding.TEXT, "[" * 100_000),
    ],
)
def test_what_bytes_are_taken_for(content: bytes | None, encoding: Encoding, value: Any) -> None:
    read = PayloadReader().read(content)
    assert (read.encoding, read.value) == (encoding, value)


def test_only_a_small_number_after_a_zero_is_a_schema() -> None:
    reader = PayloadReader()
    assert reader.read(b"\x00\x00\x00\x00\x07\x02a").schema == 7
    assert reader.read(b"\x00\xff\x00\x00\x07\x02a").schema is None
    assert reader.read(b"\x00\x00\x00\x00").schema is None


def test_a_registry_that_cannot_be_reached() -> None:
    reader = PayloadReader(RegistryOptions("http://127.0.0.1:1"))
    with pytest.raises(ScriptError, match="registry cannot be asked"):
        reader.read(b"\x00\x00\x00\x00\x07\x02a")
