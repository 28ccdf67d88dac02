"""Detects whether a task has received all of its rows.

Spark ends the rows of a task with Arrow's end marker, and closes the connection without one if anything upstream fails
or the task is cancelled. Arrow's reader treats both as the end: a step that commits its input must not.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.serializers import ArrowStreamSerializer

if TYPE_CHECKING:
    from collections.abc import Iterator


class IncompleteInputError(Exception):
    """Spark closed the connection before the last row of a task."""

    def __init__(self) -> None:
        super().__init__("the rows of the task ended before their end marker: an earlier step failed or was cancelled")


class _InputState:
    """The state of the task that this worker runs: it runs one at a time."""

    is_complete = False


def require_end_markers() -> None:
    """Makes this worker read rows strictly; takes effect for tasks whose rows have not been opened yet."""
    ArrowStreamSerializer.load_stream = _load_stream  # type: ignore[method-assign,assignment]


def mark_end(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Notes that the task has received all of its rows when the last of these has been taken."""
    _InputState.is_complete = False
    yield from batches
    _InputState.is_complete = True


def require_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All batches of the task; raises IncompleteInputError after the last one unless they are known to be complete."""
    yield from batches
    if not _InputState.is_complete:
        raise IncompleteInputError


def _load_stream(_serializer: ArrowStreamSerializer, stream: IO[bytes]) -> Iterator[pa.RecordBatch]:
    """Spark's own, except that it detects a connection that is closed between two batches."""
    yield from mark_end(iter(pa.ipc.open_stream(_FullReads(stream))))


class _FullReads:
    """A file in which Arrow never finds an end: it stops at the end marker, or the file ended before it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        found = self._stream.read(size)
        if len(found) < size:
            raise IncompleteInputError
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
