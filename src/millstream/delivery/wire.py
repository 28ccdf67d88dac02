"""What goes over the socket between a task and the process that delivers.

A text has its length before it. Messages are an Arrow stream followed by the number of its rows. Without that number
they are not all: Arrow takes a connection that is closed between two batches for the end of its stream.
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
    """Raises EOFError where the other end is gone."""
    (length,) = _LENGTH.unpack(_read(stream, _LENGTH.size))
    return _read(stream, length)


def write_end(stream: Stream, rows: int) -> None:
    """After the last batch: the messages are these, and no others follow."""
    stream.write(_ROWS.pack(rows))
    stream.flush()


def read_batches(stream: Stream) -> Iterator[pa.RecordBatch]:
    """Raises EOFError after the last batch unless its sender has said that it was the last."""
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
