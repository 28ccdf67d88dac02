"""What goes over the socket between a task and the process that delivers: texts with their length before them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from io import BufferedRWPair

    Stream = BufferedRWPair[Any, Any]

_LENGTH: Final = struct.Struct(">I")


def write_text(stream: Stream, text: bytes) -> None:
    stream.write(_LENGTH.pack(len(text)) + text)
    stream.flush()


def read_text(stream: Stream) -> bytes:
    """Raises EOFError where the other end is gone."""
    (length,) = _LENGTH.unpack(_read(stream, _LENGTH.size))
    return _read(stream, length)


def _read(stream: Stream, size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found
