"""JSON is read to the same depth in every column and format, whoever calls the reader."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa
import pytest

from millstream.formats.codecs import decoder_of
from millstream.formats.json_lines import _find_deeply_nested
from millstream.formats.json_nesting import DEEPEST, nesting
from millstream.formats.json_tokens import parse, tree_text
from millstream.formats.message_decoder import MessageDecoder
from tests.unit.formats.conformance.reading import parse_columns
from tests.unit.formats.flink_goldens import bind_format

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

CASES: Final = {
    "a text": ("json", "s STRING", b'{"s":', b"}", 1),
    "a field that no column has": ("json", "i INT", b'{"i":1,"s":', b"}", 1),
    "behind brackets in a text": ("json", "i INT", b'{"i":1,"t":"' + b"]" * 2000 + b'\\"]","s":', b"}", 1),
    "the text of a change": ("debezium-json", "s STRING", b'{"op":"c","after":{"s":', b"}}", 2),
    "beside a change": ("canal-json", "i INT", b'{"type":"INSERT","data":[{"i":"1"}],"s":', b"}", 1),
}


def call_from_depth(call: Callable[[], T], frames: int) -> T:
    return call() if frames == 0 else call_from_depth(call, frames - 1)


def frames_in_use() -> int:
    frame, frames = sys._getframe(), 0
    while (outer := frame.f_back) is not None:
        frame, frames = outer, frames + 1
    return frames


@pytest.mark.parametrize("exact_only", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_limit_is_the_same_from_everywhere(name: str, *, exact_only: bool) -> None:
    format_, columns, before, behind, around = CASES[name]
    named = parse_columns(columns)
    decoder = decoder_of(bind_format(format_, {}), named, tuple(column for column, _ in named))
    assert isinstance(decoder, MessageDecoder)
    decoder._exact_only = exact_only

    def unreadable(depth: int) -> list[str]:
        message = before + b"[" * (depth - around) + b"]" * (depth - around) + behind
        return [found.text for found in decoder.decode(pa.array([message]), sets_aside=True).unreadable]

    # Room is left for the calls of the decoder itself.
    for frames in (0, sys.getrecursionlimit() - frames_in_use() - 200):
        assert call_from_depth(lambda: unreadable(DEEPEST), frames) == []
        [reason] = call_from_depth(lambda: unreadable(DEEPEST + 1), frames)
        assert f"nested more than {DEEPEST} levels" in reason


@pytest.mark.parametrize(
    ("content", "levels"),
    [
        (b"1", 0),
        (b'{"a":[{}],"b":[]}', 3),
        (b'{"a":"[[[["}', 1),
        (b'{"a":"\\"[[\\\\"}', 1),
        (b'{"a":"\\\\\\"[[","b":[]}', 2),
        (b'{"a":1} [[[[', 1),
        (b"[[[[", 4),
        (b"", 0),
    ],
)
def test_levels_are_those_of_the_first_value(content: bytes, levels: int) -> None:
    assert nesting(content) == levels


@pytest.mark.parametrize("deep_at", [None, 0, 17, 39])
def test_deep_messages_are_found_among_long_ones(deep_at: int | None) -> None:
    shallow = b'{"s":"' + b"[{" * 140 + b'","i":[{}]}' + b" " * 100
    deep = b'{"s":' + b"[" * 301 + b"]" * 301 + b"}"
    messages = [deep if place == deep_at else shallow for place in range(40)]
    found = _find_deeply_nested(pa.array(messages, pa.binary())).nonzero()[0].tolist()
    assert found == ([] if deep_at is None else [deep_at])


def test_a_nested_value_as_text() -> None:
    text = b'{"a":[1,[],{}, {"b" :null, "c":[true,1.50,"x\\"y"]}],"a":[-0 , "last"], "d":{"e":{}}}'
    assert tree_text(parse(text), exact_fractions=False) == '{"a":[0,"last"],"d":{"e":{}}}'
    inner = b'[1,[],{}, {"b" :null, "c":[true,1.50,"x\\"y"]}]'
    assert tree_text(parse(inner), exact_fractions=True) == '[1,[],{},{"b":null,"c":[true,1.5,"x\\"y"]}]'
