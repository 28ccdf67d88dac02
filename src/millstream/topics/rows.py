"""Messages as rows of a table: where each is, its key, and a column for each field of its value."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from millstream.topics.payloads import Encoding, Payload

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from millstream.topics.messages import TopicMessage
    from millstream.topics.payloads import PayloadReader

PLACE: Final = ("partition", "offset", "time")
KEY, VALUE, HEADERS = "key", "value", "headers"
TOMBSTONE: Final = "<tombstone>"
_NOTHING: Final = ""
_WIDEST: Final = 40
"""Of a column, unless it is the last."""


@dataclass(frozen=True, slots=True)
class ReadMessage:
    message: TopicMessage
    key: Payload
    value: Payload

    @property
    def time(self) -> str | None:
        """In UTC."""
        if self.message.timestamp is None:
            return None
        moment = datetime.fromtimestamp(self.message.timestamp / 1000, UTC)
        return moment.replace(tzinfo=None).isoformat(" ", "milliseconds")

    @property
    def place(self) -> dict[str, Any]:
        return dict(zip(PLACE, (self.message.partition, self.message.offset, self.time), strict=True))

    @property
    def fields(self) -> dict[str, Any]:
        """Of a value that is an object; any other is one field."""
        return self.value.value if self.value.is_object else {VALUE: self.value.value}

    @property
    def columns(self) -> dict[str, Any]:
        """All that a condition can name. A field hides what else is called like it."""
        return {**self.place, KEY: self.key.value, **(self.fields if self.message.value is not None else {})}

    def as_json(self) -> dict[str, Any]:
        content = {KEY: self.key, VALUE: self.value}
        return {
            **self.place,
            **{name: _plain(payload.value) for name, payload in content.items()},
            **({HEADERS: _plain(_headers(self.message))} if self.message.headers else {}),
            **{f"{name}_encoding": payload.encoding.value for name, payload in content.items()},
        }


def read_messages(messages: Iterable[TopicMessage], reader: PayloadReader) -> list[ReadMessage]:
    return [ReadMessage(each, reader.read(each.key), reader.read(each.value)) for each in messages]


@dataclass(frozen=True, slots=True)
class MessageTable:
    """Headings, which follow from the first messages, and the cells under them."""

    fields: tuple[str, ...]
    has_keys: bool
    has_headers: bool

    @property
    def headings(self) -> tuple[str, ...]:
        keys, headers = (KEY,) * self.has_keys, (HEADERS,) * self.has_headers
        return (*PLACE, *keys, *headers, *self.fields)

    def cells(self, read: ReadMessage) -> tuple[str, ...]:
        before = [str(cell) if cell is not None else _NOTHING for cell in read.place.values()]
        if self.has_keys:
            before.append(_cell(read.key.value, read.key.encoding))
        if self.has_headers:
            before.append(_cell(_headers(read.message), Encoding.JSON) if read.message.headers else _NOTHING)
        *most, last = [*before, *self._cells_of_value(read)]
        return (*map(_shorten, most), last)

    def _cells_of_value(self, read: ReadMessage) -> list[str]:
        if read.message.value is None:
            return [TOMBSTONE, *(_NOTHING for _ in self.fields[1:])]
        if not read.value.is_object or not self.fields_of(read):
            text = _cell(read.value.value, read.value.encoding)
            return [text, *(_NOTHING for _ in self.fields[1:])]
        found = read.value.value
        return [_cell(found[name], read.value.encoding) if name in found else _NOTHING for name in self.fields]

    def fields_of(self, read: ReadMessage) -> bool:
        """Whether the table has a column for a field of the message."""
        return any(name in read.value.value for name in self.fields)


def table_of(messages: Sequence[ReadMessage]) -> MessageTable:
    fields = dict.fromkeys(name for read in messages if read.value.is_object for name in read.value.value)
    return MessageTable(
        tuple(fields) or (VALUE,),
        any(read.message.key is not None for read in messages),
        any(read.message.headers for read in messages),
    )


def _headers(message: TopicMessage) -> dict[str, Any]:
    """The last of each name; text where it is one."""
    return {name: None if content is None else _text(content) for name, content in message.headers}


def _text(content: bytes) -> str | bytes:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


def _cell(value: Any, encoding: Encoding) -> str:
    if value is None:
        return "NULL" if encoding in {Encoding.JSON, Encoding.AVRO} else _NOTHING
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, str):
        return value
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _shorten(text: str) -> str:
    line = text.replace("\r", "␍").replace("\n", "␊")
    return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"


def _plain(value: Any) -> Any:
    """What JSON can say; bytes as Base64, all else that it has no form for as text."""
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if isinstance(value, str | int | float | bool | None) else str(value)
