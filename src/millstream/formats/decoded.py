"""The result of a decoder."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa

from millstream.changelog import KIND, RowKind

_SHOWN_CHARACTERS: Final = 500
_SHOWN_BYTES: Final = 100
_LONGEST_TEXT: Final = 2000
"""A cause may quote a value, which may be as long as its message."""
MOST_COPIED_BYTES: Final = 1 << 28
"""What one message may grow to where its parts are repeated, row by row; Flink hands on row after row without end."""
_BLANKS: Final = str.maketrans("", "", "\t\r\n")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A message that cannot be decoded, by its index, and the reason."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """The rows of some messages.

    `origin` holds for each row the index of its message, ascending; it is None when row i is message i.
    `passed_over` are the messages dropped, wholly or in part, because the format ignores parse errors.
    `kinds` are the row kinds (int8); it is None when every row is an insert.
    `unreadable` are the messages that were set aside; no row comes from them.
    """

    table: pa.Table
    origin: pa.Array | None = None
    passed_over: tuple[int, ...] = ()
    kinds: pa.Array | None = None
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def skipped(self) -> int:
        return len(self.passed_over)

    def with_kinds(self) -> pa.Table:
        """The rows with their kinds in the column KIND."""
        kinds = pa.repeat(pa.scalar(RowKind.INSERT, pa.int8()), self.table.num_rows)
        return self.table.append_column(KIND, self.kinds if self.kinds is not None else kinds)


class Decoder(Protocol):
    def decode(self, values: pa.Array, *, sets_aside: bool = False) -> Decoded:
        """The rows of the messages. Raises DecodeError for one that cannot be decoded, unless it is to be set aside."""
        ...


class Encoder(Protocol):
    def encode(self, table: pa.Table) -> pa.Array:
        """The messages, one per row; a changelog format uses the column KIND."""
        ...


class DecodeError(Exception):
    """A message that cannot be decoded. The caller knows the topic, partition and offset of `index`."""

    def __init__(self, index: int, text: str, half: str = "value") -> None:
        super().__init__(index, text, half)
        self.index = index
        self.text = text
        self.half = half
        """Which part of the message it is: `key` or `value`."""

    def __str__(self) -> str:
        return f"message {self.index}: {self.text}"


class UnreadableMessages:
    """Handles messages that cannot be decoded: raises for the first, or collects all."""

    def __init__(self, *, sets_aside: bool) -> None:
        self._sets_aside = sets_aside
        self._found: list[Unreadable] = []

    def add(self, index: int, text: str) -> None:
        text = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
        if not self._sets_aside:
            raise DecodeError(index, text)
        self._found.append(Unreadable(index, text))

    def all(self) -> tuple[Unreadable, ...]:
        return tuple(sorted(self._found, key=lambda found: found.index))


def table_of(arrays: list[pa.Array], schema: pa.Schema, rows: int) -> pa.Table:
    """A table that knows its number of rows even if it has no columns."""
    if arrays:
        return pa.Table.from_arrays(arrays, schema=schema)
    return pa.table({"": pa.nulls(rows)}).select([])


def preview(payload: bytes, size: int | None = None) -> str:
    """A payload for an error message: a text as it is, other bytes in hex, and neither too long.

    `size` is passed if `payload` is only the beginning.

    >>> preview(bytes([0, 255]))
    '0x00ff'
    """
    size = len(payload) if size is None else size
    text = _text(payload, is_whole=size == len(payload))
    if text is None:
        shortened, is_cut = f"0x{payload[:_SHOWN_BYTES].hex()}", size > _SHOWN_BYTES
    else:
        shortened, is_cut = text[:_SHOWN_CHARACTERS], len(text) > _SHOWN_CHARACTERS or size > len(payload)
    return f"{shortened}… ({size} bytes)" if is_cut else shortened


def _text(payload: bytes, *, is_whole: bool) -> str | None:
    """None if the bytes are not a text; a character that is cut off at the end is dropped."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(payload, final=is_whole)
    except UnicodeDecodeError:
        return None
    return text if text.translate(_BLANKS).isprintable() else None
