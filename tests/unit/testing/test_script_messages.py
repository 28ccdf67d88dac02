"""Messages as lines, the table a topic folds to, and blocks that are recorded anew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.testing.script_messages import Message, Received, fold, in_key_order, parse_message
from millstream.testing.script_record import Rewrite, rewritten
from millstream.testing.script_steps import Block

PARTS = st.none() | st.binary(max_size=8) | st.text(max_size=8).map(str.encode)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id":1} => {"n":2}', Message(b'{"id":1}', b'{"n":2}')),
        ('  {"n":2} ', Message(None, b'{"n":2}')),
        ("a => null", Message(b"a", None)),
        ("null", Message(None, None)),
        ("hex:00ff => hex:", Message(b"\x00\xff", b"")),
        ("ö => a=>b", Message("ö".encode(), b"a=>b")),
    ],
)
def test_lines(line: str, message: Message) -> None:
    assert message.line == line.strip()
    assert parse_message(line) == message


@pytest.mark.parametrize(
    "value", [b"", b"null", b" a", b"a\nb", b"# a", b"$ a", b"> a", b"! a", b"? a", b"hex:00", b"a => b"]
)
def test_text_that_would_be_misread_is_shown_as_bytes(value: bytes) -> None:
    assert Message(None, value).line == f"hex:{value.hex()}"


@given(PARTS, PARTS)
def test_every_message_comes_back_from_its_line(key: bytes | None, value: bytes | None) -> None:
    message = Message(key, value)
    assert "\n" not in message.line
    assert parse_message(message.line) == message


def test_key_order_keeps_the_messages_of_a_key_in_order() -> None:
    messages = [Message(b"b", b"1"), Message(b"a", b"2"), Message(b"b", None), Message(None, b"0")]
    assert [message.line for message in in_key_order(messages)] == ["0", "a => 2", "b => 1", "b => null"]


def receive(*lines: str, partition: int = 0) -> list[Received]:
    return [Received(parse_message(line), partition, offset) for offset, line in enumerate(lines)]


def test_a_fold_has_the_last_value_of_each_key() -> None:
    topic = receive("b => 1", "a => 1", "b => 2", "a => null", "c => 1", "c => null", "c => 3")
    assert [message.line for message in fold(topic)] == ["b => 2", "c => 3"]


@pytest.mark.parametrize(
    ("topic", "why"),
    [
        (receive("a => null"), "tombstone for a key that is not there: a => null"),
        (receive("a => 1", "a => null", "a => null"), "tombstone for a key"),
        (receive("1"), "message without a key: 1"),
        (receive("a => 1") + receive("a => 2", partition=1), "key in partitions 0 and 1: a => 2"),
    ],
)
def test_what_is_no_table_is_not_folded(topic: list[Received], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        fold(topic)


def test_partition_and_headers_stand_in_the_place_of_the_key() -> None:
    found = Received(Message(b"k", b"v"), 3, 0, (("a", b"1"), ("b", None), ("c", b"")))
    assert found.under_its_partition.line == "3 => v"
    assert found.under_its_headers.line == "a=1;b=null;c=hex: => v"
    assert Received(Message(b"k", None), 3, 0).under_its_headers.line == "null"


def test_blocks_are_rewritten_where_they_stand() -> None:
    text = "1\n2\n3\n4\n5\n"
    rewrites = [Rewrite(Block(1, 3), ("one",)), Rewrite(Block(4, 4), ("more", "still more")), Rewrite(Block(5, 6), ())]
    assert rewritten(text, rewrites) == "one\n3\nmore\nstill more\n4\n"
    assert rewritten(text, []) == text
