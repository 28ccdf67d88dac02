"""What a decoder gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True)
class Decoded:
    """The rows of some messages.

    `origin` holds for each row the index of its message, ascending; it is None when row i is message i.
    `skipped` counts the messages dropped, wholly or in part, because the format ignores parse errors.
    """

    table: pa.Table
    origin: pa.Array | None = None
    skipped: int = 0


class DecodeError(Exception):
    """A message that the format cannot read. The caller knows topic, partition and offset of `index`."""

    def __init__(self, index: int, text: str) -> None:
        super().__init__(index, text)
        self.index = index
        self.text = text

    def __str__(self) -> str:
        return f"message {self.index}: {self.text}"


def shown(payload: bytes) -> str:
    """A payload as it may stand in an error message: readable and not too long."""
    text = payload.decode("utf-8", "replace")
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return f"{text[:_SHOWN_CHARACTERS]}… ({len(payload)} bytes)"
