"""Splits sorted rows into pieces and writes them, with a few pieces in memory at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import pyarrow as pa

from millstream.state.manifest import Piece, Segment, TableManifest
from millstream.state.segment_search import HASH, as_numpy

if TYPE_CHECKING:
    from millstream.state.hash_filter import HashFilter

PIECE_BYTES: Final = 16 << 20
"""The most a piece takes up: a merge holds a few of them in memory."""


class PieceStore(Protocol):
    """Where a table keeps its pieces and its manifest."""

    def manifest(self) -> TableManifest: ...

    def save_manifest(self, manifest: TableManifest) -> None: ...

    def load(self, piece: Piece) -> pa.Table: ...

    def load_filter(self, piece: Piece) -> HashFilter | None:
        """None if the piece has none."""
        ...

    def write(self, rows: pa.Table) -> Piece:
        """Rows in order of their hash."""
        ...


class SegmentWriter:
    """Receives rows sorted by hash; rows with the same hash arrive together."""

    def __init__(self, store: PieceStore, piece_bytes: int) -> None:
        self._store = store
        self._piece_bytes = piece_bytes
        self._pieces: list[Piece] = []
        self._waiting: list[pa.Table] = []
        self._rows = 0

    def add(self, rows: pa.Table) -> None:
        if rows.num_rows == 0:
            return
        self._waiting.append(rows)
        self._rows += rows.num_rows
        if sum(table.nbytes for table in self._waiting) > self._piece_bytes:
            self._flush()

    def keep(self, piece: Piece) -> None:
        """Keeps a piece as it is; all its hashes come after those that were added."""
        self._flush()
        self._pieces.append(piece)
        self._rows += piece.rows

    @property
    def rows(self) -> int:
        """How many rows there are so far."""
        return self._rows

    def finish(self, replaced: int) -> Segment | None:
        """None if there were no rows. `replaced` is the number of older rows that are out of date because of them."""
        self._flush()
        return Segment(tuple(self._pieces), min(max(replaced, 0), self._rows)) if self._pieces else None

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
                self._pieces.append(self._store.write(rows.slice(start, end - start)))
