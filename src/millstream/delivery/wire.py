"""The protocol between a task and the process that delivers.

A text is preceded by its length. Messages are an Arrow stream, followed by the number of its rows. Without that number
they are incomplete: Arrow treats a connection that is closed between two batches as the end of its stream.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedRWPair

    Stream = BufferedRWPair[Any, Any]

_LENGTH: Final = struct.Struct(">I")
_ROWS: Final = struct.Struct(">Q")


def write_text(stream: Stream, text: bytes) -> None:
    stream.write(_LENGTH.pack(len(text)) + text)
    stream.flush()


def read_text(stream: Stream) -> bytes:
    """Raises EOFError if the other end has closed the connection."""
    (length,) = _LENGTH.unpack(_read(stream, _LENGTH.size))
    return _read(stream, length)


def write_end(stream: Stream, rows: int) -> None:
    """Called after the last batch: the messages are complete."""
    stream.write(_ROWS.pack(rows))
    stream.flush()


def read_batches(stream: Stream) -> Iterator[pa.RecordBatch]:
    """Raises EOFError after the last batch unless the sender has confirmed that it was the last."""
    rows = 0
    for batch in pa.ipc.open_stream(stream):
        rows += batch.num_rows
        yield batch
    (sent,) = _ROWS.unpack(_read(stream, _ROWS.size))
    if sent != rows:
        raise EOFError


def _read(stream: Stream, size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found
