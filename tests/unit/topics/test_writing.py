from __future__ import annotations

import pytest

from millstream.errors import ScriptError
from millstream.topics.writing import MessageLines


def test_lines_as_they_are() -> None:
    assert list(MessageLines([b"a\n", b"\n", b"b\r\n", b" c"]).messages()) == [
        (None, b"a"),
        (None, b"b"),
        (None, b" c"),
    ]


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        (("name",), "Zürich".encode()),
        (("id",), b"7"),
        (("none",), b"null"),
        (("id", "name"), '{"id":7,"name":"Zürich"}'.encode()),
    ],
)
def test_keys_from_fields(fields: tuple[str, ...], key: bytes) -> None:
    line = '{"id": 7, "name": "Zürich", "none": null}'.encode()
    assert list(MessageLines([line], fields).messages()) == [(key, line)]


@pytest.mark.parametrize("line", [b"{", b"[1]", b'{"ID": 1}'])
def test_a_line_without_the_key(line: bytes) -> None:
    with pytest.raises(ScriptError, match='line 2 is no JSON object with a field "id"'):
        list(MessageLines([b'{"id":1}', line], ("id",)).messages())
