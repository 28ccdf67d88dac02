"""What a decoder gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa

from millstream.changelog import KIND, RowKind

_SHOWN_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True)
class Decoded:
    """The rows of some messages.

    `origin` holds for each row the index of its message, ascending; it is None when row i is message i.
    `skipped` counts the messages dropped, wholly or in part, because the format ignores parse errors.
    `kinds` are the row kinds (int8); it is None when every row is an insert.
    """

    table: pa.Table
    origin: pa.Array | None = None
    skipped: int = 0
    kinds: pa.Array | None = None

    def with_kinds(self) -> pa.Table:
        """The rows with their kinds in the column KIND."""
        kinds = pa.repeat(pa.scalar(RowKind.INSERT, pa.int8()), self.table.num_rows)
        return self.table.append_column(KIND, self.kinds if self.kinds is not None else kinds)


class Decoder(Protocol):
    def decode(self, values: pa.Array) -> Decoded:
        """The rows of the messages. Raises DecodeError for one that cannot be read."""
        ...


class Encoder(Protocol):
    def encode(self, table: pa.Table) -> pa.Array:
        """The messages, one per row; a format of changes looks at the column KIND."""
        ...


class DecodeError(Exception):
    """A message that the format cannot read. The caller knows topic, partition and offset of `index`."""

    def __init__(self, index: int, text: str) -> None:
        super().__init__(index, text)
        self.index = index
        self.text = text

    def __str__(self) -> str:
        return f"message {self.index}: {self.text}"


def table_of(arrays: list[pa.Array], schema: pa.Schema, rows: int) -> pa.Table:
    """A table that knows its number of rows even where it has no column."""
    if arrays:
        return pa.Table.from_arrays(arrays, schema=schema)
    return pa.table({"": pa.nulls(rows)}).select([])


def shown(payload: bytes) -> str:
    """A payload as it may stand in an error message: readable and not too long."""
    text = payload.decode("utf-8", "replace")
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return f"{text[:_SHOWN_CHARACTERS]}… ({len(payload)} bytes)"
