"""Where the immutable segments of a state table are kept: the truth of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Piece:
    """One immutable file of rows sorted by key hash. A fresh id per piece, never reused."""

    id: str
    rows: int
    first: int
    """Its least hash."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows sorted by key hash, cut into pieces that are small enough to be moved as one value.

    All rows of a hash lie in one piece.
    """

    pieces: tuple[Piece, ...]

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a table consists of, the oldest segment first."""

    segments: tuple[Segment, ...] = ()
    swept: int | None = None
    """When all of it was last looked through for rows past their time; None where rows have no time."""
    clock: int | None = None
    """The latest time at which it was opened with a TTL: its own time never runs back."""
    horizon: int | None = None
    """Rows that were last written then, or earlier, have expired, whatever TTL comes later."""


class SegmentLog(Protocol):
    """The durable side. A batch's writes become visible together, or not at all."""

    def manifest(self) -> Manifest: ...

    def save_manifest(self, manifest: Manifest) -> None: ...

    def read(self, piece_id: str) -> bytes: ...

    def write(self, piece_id: str, data: bytes) -> None: ...

    def remove(self, piece_id: str) -> None: ...


class MemorySegmentLog:
    """A log that lives as long as the process; what tests and benchmarks use."""

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
