"""Where the immutable segments of a state table are kept: the truth, and a local copy of it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Segment:
    """One immutable file of rows sorted by key hash. A fresh id per segment, never reused."""

    id: str
    rows: int


class SegmentLog(Protocol):
    """The durable side. A batch's writes become visible together, or not at all."""

    def manifest(self) -> tuple[Segment, ...]: ...

    def save_manifest(self, segments: tuple[Segment, ...]) -> None: ...

    def read(self, segment_id: str) -> bytes: ...

    def write(self, segment_id: str, data: bytes) -> None: ...

    def remove(self, segment_id: str) -> None: ...


class MemorySegmentLog:
    """A log that lives as long as the process; what tests and benchmarks use."""

    def __init__(self) -> None:
        self._manifest: tuple[Segment, ...] = ()
        self._data: dict[str, bytes] = {}

    def manifest(self) -> tuple[Segment, ...]:
        return self._manifest

    def save_manifest(self, segments: tuple[Segment, ...]) -> None:
        self._manifest = segments

    def read(self, segment_id: str) -> bytes:
        return self._data[segment_id]

    def write(self, segment_id: str, data: bytes) -> None:
        self._data[segment_id] = data

    def remove(self, segment_id: str) -> None:
        del self._data[segment_id]


class SegmentCache:
    """Memory-mapped copies of segments, shared by all workers of a host.

    Ids are never reused, so a file is right or absent; nothing needs to be invalidated.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def load(self, segment_id: str, log: SegmentLog) -> pa.Table:
        try:
            return self._mapped(segment_id)
        except FileNotFoundError:
            self.store(segment_id, log.read(segment_id))
            return self._mapped(segment_id)

    def store(self, segment_id: str, data: bytes) -> None:
        # Another worker may store the same segment: each writes its own file, the last rename wins.
        unfinished = self._folder / f"{segment_id}.{uuid.uuid4().hex}"
        unfinished.write_bytes(data)
        unfinished.replace(self._folder / segment_id)

    def forget(self, segment_id: str) -> None:
        (self._folder / segment_id).unlink(missing_ok=True)

    def _mapped(self, segment_id: str) -> pa.Table:
        with pa.memory_map(str(self._folder / segment_id)) as source:
            return pa.ipc.open_file(source).read_all()
