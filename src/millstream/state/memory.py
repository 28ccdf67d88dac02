"""A table's pieces in memory, for tests and benchmarks of kernels."""

from __future__ import annotations

import zlib
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from millstream.state.hash_filter import HashFilter
from millstream.state.manifest import Piece, TableManifest
from millstream.state.segment_search import HASH, as_numpy

if TYPE_CHECKING:
    import pyarrow as pa


class MemoryPieces:
    def __init__(self) -> None:
        self._manifest = TableManifest()
        self._pieces: dict[str, pa.Table] = {}
        self._filters: dict[str, HashFilter] = {}
        self._numbers = count()

    def manifest(self) -> TableManifest:
        """Read once per batch: what it does not name is not needed any more, and may have been until then."""
        named = {piece.file for piece in self._manifest.pieces}
        self._pieces = {name: rows for name, rows in self._pieces.items() if name in named}
        self._filters = {name: found for name, found in self._filters.items() if name in named}
        return self._manifest

    def save_manifest(self, manifest: TableManifest) -> None:
        self._manifest = manifest

    def load(self, piece: Piece) -> pa.Table:
        return self._pieces[piece.file]

    def load_filter(self, piece: Piece) -> HashFilter | None:
        return self._filters.get(piece.file)

    def write(self, rows: pa.Table) -> Piece:
        name = str(next(self._numbers))
        self._pieces[name] = rows
        hashes = as_numpy(rows.column(HASH))
        built = HashFilter.build(hashes)
        checksum = zlib.crc32(name.encode())
        piece = Piece(name, 0, rows.nbytes, checksum, rows.num_rows, int(hashes[0]), int(hashes[-1]))
        if built is None:
            return piece
        self._filters[name] = built
        return replace(piece, filter_length=len(built.bits))
