"""Local copies of segments, mapped into memory: what is not accessed needs no memory."""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from millstream.private_folder import make_private_folder

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.kernels.segment_log import SegmentLog

_ABANDONED_SECONDS: Final = 600
"""A file that has been unfinished for so long belongs to a worker that was killed."""


class SegmentCache:
    """Shared by all workers of a machine. Ids are never reused, so a file is valid or absent, and never invalidated.

    Above `limit` bytes, `trim` removes what has not been used for longest, after the leftovers of failed batches.
    """

    def __init__(self, folder: Path, limit: int | None = None) -> None:
        self._folder = folder
        self._limit = limit
        make_private_folder(folder)

    def load(self, piece_id: str, log: SegmentLog) -> pa.Table:
        file = self._folder / piece_id
        try:
            with pa.memory_map(str(file)) as source:
                rows = pa.ipc.open_file(source).read_all()
            os.utime(file)
        except FileNotFoundError:
            rows = pa.ipc.open_file(pa.py_buffer(log.read(piece_id))).read_all()
            self.store(piece_id, rows)
        return rows

    def store(self, piece_id: str, rows: pa.Table) -> None:
        """Not compressed, since it is memory-mapped."""
        # Another worker may store the same piece: each writes its own file, and the last rename wins.
        unfinished = self._folder / f"{piece_id}.{uuid.uuid4().hex}"
        try:
            _write(unfinished, rows)
        except FileNotFoundError:  # temporary folders are cleaned up, by hand or by the system
            make_private_folder(self._folder)
            _write(unfinished, rows)
        unfinished.replace(self._folder / piece_id)

    def forget(self, piece_id: str) -> None:
        (self._folder / piece_id).unlink(missing_ok=True)

    def trim(self) -> None:
        if self._limit is None:
            return
        held: list[tuple[float, int, Path]] = []
        for file in self._folder.iterdir():
            with suppress(FileNotFoundError):  # another worker is trimming too
                found = file.stat()
                held.append((found.st_mtime, found.st_size, file))
        too_much = sum(size for _, size, _ in held) - self._limit
        for used, size, file in sorted(held):
            if too_much <= 0:
                break
            if file.suffix and used > time.time() - _ABANDONED_SECONDS:
                continue
            file.unlink(missing_ok=True)
            too_much -= size


def _write(file: Path, rows: pa.Table) -> None:
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)
