"""Splits sorted rows into pieces and writes them, with a few pieces in memory at a time."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from millstream.kernels.segment_log import Piece, Segment
from millstream.kernels.segment_search import HASH, as_numpy

if TYPE_CHECKING:
    from millstream.kernels.segment_cache import SegmentCache
    from millstream.kernels.segment_log import SegmentLog

PIECE_BYTES: Final = 16 << 20
"""The maximum size of a piece. On its way to Spark's state store, the JVM copies a value several times on its heap."""
_COMPRESSED: Final = pa.ipc.IpcWriteOptions(compression="lz4")
"""Sorted rows compress to less than half, and every byte costs Spark several times more than compressing it."""


class SegmentWriter:
    """Receives rows sorted by hash; rows with the same hash arrive together."""

    def __init__(self, log: SegmentLog, cache: SegmentCache, piece_bytes: int) -> None:
        self._log = log
        self._cache = cache
        self._piece_bytes = piece_bytes
        self._pieces: list[Piece] = []
        self._waiting: list[pa.Table] = []

    def add(self, rows: pa.Table) -> None:
        if rows.num_rows == 0:
            return
        self._waiting.append(rows)
        if sum(table.nbytes for table in self._waiting) > self._piece_bytes:
            self._flush()

    def keep(self, piece: Piece) -> None:
        """Keeps a piece as it is; all its hashes come after those that were added."""
        self._flush()
        self._pieces.append(piece)

    def finish(self) -> Segment | None:
        """None if there were no rows."""
        self._flush()
        return Segment(tuple(self._pieces)) if self._pieces else None

    def _flush(self) -> None:
        if not self._waiting:
            return
        rows = pa.concat_tables(self._waiting).combine_chunks()
        self._waiting = []
        hashes = as_numpy(rows.column(HASH))
        count = -(-rows.nbytes // self._piece_bytes)
        starts = [0, *(int(np.searchsorted(hashes, hashes[rows.num_rows * n // count])) for n in range(1, count))]
        for start, end in zip(starts, [*starts[1:], rows.num_rows], strict=True):
            if start < end:
                self._write(rows.slice(start, end - start), int(hashes[start]))

    def _write(self, rows: pa.Table, first: int) -> None:
        piece = Piece(uuid.uuid4().hex, rows.num_rows, first)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, rows.schema, options=_COMPRESSED) as writer:
            writer.write_table(rows)
        self._cache.store(piece.id, rows)
        self._log.write(piece.id, sink.getvalue().to_pybytes())
        self._pieces.append(piece)
