"""The durable storage of the immutable segments of a state table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Piece:
    """One immutable file of rows sorted by key hash. Each has a new id, which is never reused."""

    id: str
    rows: int
    first: int
    """Its lowest hash."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows sorted by key hash, in pieces that are small enough to be stored as one value.

    All rows with the same hash are in one piece.
    """

    pieces: tuple[Piece, ...]

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The segments of a table, the oldest first."""

    segments: tuple[Segment, ...] = ()
    swept: int | None = None
    """When the whole table was last searched for expired rows; None if rows have no time."""
    clock: int | None = None
    """The latest time at which it was opened with a TTL: its own time never goes back."""
    horizon: int | None = None
    """Rows last written at this time or earlier have expired, whatever the TTL is later."""


class SegmentLog(Protocol):
    """The writes of a batch become visible together, or not at all."""

    def manifest(self) -> Manifest: ...

    def save_manifest(self, manifest: Manifest) -> None: ...

    def read(self, piece_id: str) -> bytes: ...

    def write(self, piece_id: str, data: bytes) -> None: ...

    def remove(self, piece_id: str) -> None: ...


class MemorySegmentLog:
    """A log in memory, for tests and benchmarks."""

    def __init__(self) -> None:
        self._manifest = Manifest()
        self._data: dict[str, bytes] = {}

    def manifest(self) -> Manifest:
        return self._manifest

    def save_manifest(self, manifest: Manifest) -> None:
        self._manifest = manifest

    def read(self, piece_id: str) -> bytes:
        return self._data[piece_id]

    def write(self, piece_id: str, data: bytes) -> None:
        self._data[piece_id] = data

    def remove(self, piece_id: str) -> None:
        del self._data[piece_id]
