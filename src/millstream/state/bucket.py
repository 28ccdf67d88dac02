"""The state of one bucket of an operator, as one batch sees it and leaves it.

<bucket>/<batch>.json            the manifest of the batch: which pieces the tables consist of after it
<bucket>/<batch>-<random>.arrow  pieces that the batch has written

A batch starts from the newest manifest of a batch before it, so nothing has to be rolled back when a batch is done
again, and nothing but the manifest has to be committed. See docs/adr/0018-state-as-files.md.
"""

from __future__ import annotations

import re
import uuid
import zlib
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from millstream.failpoints import reach
from millstream.state.hash_filter import HashFilter
from millstream.state.manifest import BucketManifest, Piece, TableManifest
from millstream.state.segment_search import HASH, as_numpy
from millstream.state.storage import StateFileError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.state.storage import StateStorage

_LARGE_BYTES: Final = 1 << 20
"""Pieces of this size have a file of their own; smaller ones share one, which is forced to disk once per batch."""
_ALIGNMENT: Final = 64
_MANIFEST: Final = re.compile(r"(\d+)\.json")
_OF_BATCH: Final = re.compile(r"(\d+)(?=\.json|-)")
_VERIFIED: Final[set[tuple[str, int]]] = set()
"""Pieces that this process has compared with their checksums: a file is never written again under its name."""
_MOST_VERIFIED: Final = 100_000


class BucketState:
    """To be opened for a batch, changed through its tables, and committed when the batch's rows are worked in."""

    def __init__(self, storage: StateStorage, folder: str, batch: int, *, retained: int) -> None:
        self._storage = storage
        self._folder = folder
        self._batch = batch
        self._retained = retained
        operator = folder.rpartition("/")[0]
        if not storage.has(operator):
            why = "It is missing, or not on a file system that this machine shares with the driver."
            raise StateFileError(storage.locate(operator), why)
        numbers = manifest_numbers(storage.names(folder))
        self._is_done_again = batch in numbers
        self._has_outdated = any(number < batch - retained for number in sorted(numbers)[:-1])
        self._previous = max((number for number in numbers if number < batch), default=None)
        self._before = BucketManifest() if self._previous is None else read_manifest(storage, folder, self._previous)
        self._tables = dict(self._before.tables)
        self._shared = self._new_file()
        self._waiting: dict[int, list[pa.Buffer]] = {}
        self._end = 0
        self._unsynced: list[str] = []
        self._opened: dict[tuple[str, int], pa.Buffer] = {}

    @property
    def is_empty(self) -> bool:
        return not any(table.segments for table in self._tables.values())

    def table(self, name: str) -> TablePieces:
        return TablePieces(self, name)

    def manifest_of(self, table: str) -> TableManifest:
        return self._tables.get(table, TableManifest())

    def set_manifest(self, table: str, manifest: TableManifest) -> None:
        self._tables[table] = manifest

    def commit(self) -> None:
        """Makes the batch's changes the state that the next batch starts from."""
        if self._tables == dict(self._before.tables) and not self._is_done_again:
            if self._has_outdated and (self._previous or 0) <= self._batch - self._retained:
                self._remove_unused()  # a bucket that is only swept would keep what it held before
            return
        manifest = BucketManifest(self._tables, self._previous)
        if self._waiting:
            self._storage.write(self._path(self._shared), chain.from_iterable(self._waiting.values()))
            self._unsynced.append(self._shared)
        named = manifest.files
        self._storage.sync(self._folder, [file for file in self._unsynced if file in named])
        reach("before-manifest")
        self._storage.replace(self._path(f"{self._batch}.json"), manifest.to_bytes())
        if self._batch // self._retained != (self._previous or 0) // self._retained:
            self._remove_unused()

    def load(self, piece: Piece) -> pa.Table:
        data = self._read(piece).slice(piece.filter_length)
        with pa.ipc.open_file(pa.BufferReader(data)) as reader:
            return reader.read_all()

    def load_filter(self, piece: Piece) -> HashFilter | None:
        if not piece.filter_length:
            return None
        return HashFilter(np.frombuffer(self._read(piece), np.uint8, piece.filter_length))

    def write(self, rows: pa.Table) -> Piece:
        """Rows in order of their hash."""
        hashes = as_numpy(rows.column(HASH))
        hash_filter = HashFilter.build(hashes)
        parts = [] if hash_filter is None else [pa.py_buffer(hash_filter.bits)]
        parts.append(_to_arrow_file(rows))
        length = sum(part.size for part in parts)
        is_large = length >= _LARGE_BYTES
        file, offset = (self._new_file(), 0) if is_large else (self._shared, self._end)
        if is_large:
            self._storage.write(self._path(file), parts)
            self._unsynced.append(file)
        else:
            padding = -length % _ALIGNMENT
            self._waiting[offset] = [*parts, pa.py_buffer(bytes(padding))]
            self._end += length + padding
        checksum = reduce(lambda sum_, part: zlib.crc32(part, sum_), parts, 0)
        return Piece(
            file, offset, length, checksum, rows.num_rows, int(hashes[0]), int(hashes[-1]), length - parts[-1].size
        )

    def _read(self, piece: Piece) -> pa.Buffer:
        place = (piece.file, piece.offset)
        if place not in self._opened:
            is_waiting = piece.file == self._shared
            data = pa.py_buffer(b"".join(self._waiting[piece.offset])) if is_waiting else self._map(piece)
            self._opened[place] = data.slice(0, piece.length)
        return self._opened[place]

    def _map(self, piece: Piece) -> pa.Buffer:
        """Raises if the file does not have what was written."""
        path = self._path(piece.file)
        file = self._storage.locate(path)
        content = self._storage.map(path)
        if content.size < piece.offset + piece.length:
            raise StateFileError(file, f"It has {content.size} bytes, and a piece ends at a later one.")
        data = content.slice(piece.offset, piece.length)
        if (file, piece.offset) not in _VERIFIED:
            if zlib.crc32(data) != piece.checksum:
                raise StateFileError(file, "It does not match its checksum.")
            if len(_VERIFIED) >= _MOST_VERIFIED:
                _VERIFIED.clear()
            _VERIFIED.add((file, piece.offset))
        return data

    def _remove_unused(self) -> None:
        """Removes manifests that no batch can start from, and files that no other manifest names.

        Files of the retained batches stay: another attempt at one of them may still be writing.
        """
        oldest = self._batch - self._retained
        names = self._storage.names(self._folder)
        numbers = manifest_numbers(names)
        base = max((number for number in numbers if number <= oldest), default=oldest)
        kept = [number for number in numbers if number >= base]
        used = {f"{number}.json" for number in kept}
        used = used.union(*(read_manifest(self._storage, self._folder, number).files for number in kept))
        for name in names:
            batch = _OF_BATCH.match(name)
            if batch is not None and int(batch[1]) < oldest and name not in used:
                self._storage.remove(self._path(name))

    def _new_file(self) -> str:
        return f"{self._batch}-{uuid.uuid4().hex}.arrow"

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}"


class TablePieces:
    """One table of a bucket."""

    def __init__(self, bucket: BucketState, name: str) -> None:
        self._bucket = bucket
        self._name = name

    def manifest(self) -> TableManifest:
        return self._bucket.manifest_of(self._name)

    def save_manifest(self, manifest: TableManifest) -> None:
        self._bucket.set_manifest(self._name, manifest)

    def load(self, piece: Piece) -> pa.Table:
        return self._bucket.load(piece)

    def load_filter(self, piece: Piece) -> HashFilter | None:
        return self._bucket.load_filter(piece)

    def write(self, rows: pa.Table) -> Piece:
        return self._bucket.write(rows)


def manifest_numbers(names: Iterable[str]) -> list[int]:
    """The batches that have a manifest among the files of a bucket."""
    return [int(found[1]) for name in names if (found := _MANIFEST.fullmatch(name))]


def read_manifest(storage: StateStorage, folder: str, batch: int) -> BucketManifest:
    path = f"{folder}/{batch}.json"
    try:
        return BucketManifest.from_bytes(storage.read(path))
    except ValueError as error:
        raise StateFileError(storage.locate(path), str(error)) from None


def _to_arrow_file(rows: pa.Table) -> pa.Buffer:
    """Not compressed, because it is mapped into memory."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue()
