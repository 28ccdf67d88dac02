"""Kafka messages as lines of a script test.

    KEY => VALUE        a message with a key
    VALUE               a message without one

A part is text, taken as UTF-8; the bare word `null`, nothing at all (a tombstone, when it is the value); or
bytes that do not fit on a line as text, as `hex:00ff`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_ARROW: Final = " => "
_NULL: Final = "null"
_HEX: Final = "hex:"
_NOT_AT_THE_START: Final = ("#", "$", ">", "!", "?", _HEX)


@dataclass(frozen=True, slots=True)
class Message:
    key: bytes | None
    value: bytes | None

    @property
    def line(self) -> str:
        return _text(self.value) if self.key is None else f"{_text(self.key)}{_ARROW}{_text(self.value)}"


@dataclass(frozen=True, slots=True)
class Received:
    """A message with its partition and offset."""

    message: Message
    partition: int
    offset: int
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def under_its_partition(self) -> Message:
        return Message(str(self.partition).encode(), self.message.value)

    @property
    def under_its_headers(self) -> Message:
        shown = ";".join(f"{name}={_text(value)}" for name, value in self.headers)
        return Message(shown.encode() or None, self.message.value)


def parse_message(line: str) -> Message:
    """The message in a line; ValueError if its `hex:` is not hexadecimal.

    >>> parse_message('7 => null')
    Message(key=b'7', value=None)
    """
    key, arrow, value = line.strip().partition(_ARROW)
    return Message(_bytes(key), _bytes(value)) if arrow else Message(None, _bytes(key))


def in_key_order(messages: Iterable[Message]) -> list[Message]:
    """Sorted by key, with the messages of a key in order, which is the order that Kafka guarantees."""
    return sorted(messages, key=lambda message: message.key or b"")


def fold(received: Iterable[Received]) -> list[Message]:
    """The table in an upsert topic; ValueError if its messages are not consistent."""
    rows: dict[bytes, Message] = {}
    homes: dict[bytes, int] = {}
    for found in received:
        key, line = found.message.key, found.message.line
        if key is None:
            raise ValueError(f"a message without a key: {line}")
        if homes.setdefault(key, found.partition) != found.partition:
            raise ValueError(f"a key in partitions {homes[key]} and {found.partition}: {line}")
        if found.message.value is not None:
            rows[key] = found.message
        elif rows.pop(key, None) is None:
            raise ValueError(f"a tombstone for a key that is not there: {line}")
    return in_key_order(rows.values())


def _bytes(text: str) -> bytes | None:
    text = text.strip()
    if text == _NULL:
        return None
    return bytes.fromhex(text.removeprefix(_HEX)) if text.startswith(_HEX) else text.encode()


def _text(part: bytes | None) -> str:
    if part is None:
        return _NULL
    try:
        text = part.decode()
    except UnicodeDecodeError:
        return f"{_HEX}{part.hex()}"
    ambiguous = (
        text in ("", _NULL)
        or text != text.strip()
        or not text.isprintable()
        or text.startswith(_NOT_AT_THE_START)
        or _ARROW in text
    )
    return f"{_HEX}{part.hex()}" if ambiguous else text
