"""The state of a whole job, for its driver: what is discarded before a start, and how large it is."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.state.bucket import manifest_numbers, read_manifest
from millstream.state.storage import StateFileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from millstream.state.manifest import BucketManifest, TableManifest
    from millstream.state.storage import StateStorage

_SIDES: Final = ("left", "right")
"""The inputs of a join."""


@dataclass(frozen=True, slots=True)
class TableSize:
    """What an operator's table holds, in all buckets."""

    operator: str
    table: str
    rows: int
    """As they are stored: a key that has changed may be in several segments until they are merged."""
    bytes: int
    segments: int
    pieces: int
    buckets: int
    """How many of them hold rows of the table."""
    batch: int
    """The newest batch that changed one of its buckets."""


@dataclass(frozen=True, slots=True)
class OperatorSize:
    """What an operator keeps in all of its tables."""

    operator: str
    tables: tuple[TableSize, ...] = ()

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    @property
    def bytes(self) -> int:
        return sum(table.bytes for table in self.tables)

    @property
    def sides(self) -> dict[str, OperatorSize]:
        """What a join keeps of each of its inputs, in the tables whose names begin with its name."""
        tables = {side: tuple(table for table in self.tables if table.table.startswith(side)) for side in _SIDES}
        return {side: OperatorSize(self.operator, found) for side, found in tables.items() if found}


def discard_after(storage: StateStorage, last_finished: int | None) -> None:
    """Removes what unfinished batches have written, and raises if the state that they started from is missing.

    A repeated batch replaces its manifests, but not in a bucket for which a changed job has no rows any more. The state
    is missing if Spark's own files were put back, or lost in a power cut, from further back than state is retained.
    """
    finished = -1 if last_finished is None else last_finished
    for folder in _buckets(storage):
        numbers = manifest_numbers(storage.names(folder))
        unfinished = sorted(number for number in numbers if number > finished)
        for number in unfinished:
            previous = read_manifest(storage, folder, number).previous
            if previous is not None and previous not in numbers:
                why = f"It is missing, and the job has to continue from batch {finished}."
                raise StateFileError(storage.locate(f"{folder}/{previous}.json"), why)
        for number in reversed(unfinished):
            storage.remove(f"{folder}/{number}.json")


def measure(storage: StateStorage) -> list[TableSize]:
    """The size of each table after the newest batch that changed it; of a running job, about that."""
    found: list[tuple[str, int, BucketManifest]] = []
    for folder in _buckets_of_rows(storage):
        # What cannot be read is replaced or discarded at this moment; a damaged file is named by the job that reads it.
        with suppress(StateFileError):
            found += _newest_manifest(storage, folder, None)
    return _sum_up(found)


def measure_after(storage: StateStorage, batch: int) -> list[TableSize]:
    """The size of each table after one of the last ten finished batches. Raises if a manifest is damaged or missing."""
    return _sum_up(
        [found for folder in _buckets_of_rows(storage) for found in _newest_manifest(storage, folder, batch)]
    )


def _newest_manifest(storage: StateStorage, folder: str, last: int | None) -> Iterator[tuple[str, int, BucketManifest]]:
    """The operator, the batch and the manifest; nothing where a bucket had no rows up to then."""
    numbers = manifest_numbers(storage.names(folder))
    batch = max((number for number in numbers if last is None or number <= last), default=None)
    if batch is not None:
        yield folder.partition("/")[0], batch, read_manifest(storage, folder, batch)


def _sum_up(manifests: Iterable[tuple[str, int, BucketManifest]]) -> list[TableSize]:
    tables: defaultdict[tuple[str, str], list[tuple[int, TableManifest]]] = defaultdict(list)
    for operator, batch, manifest in manifests:
        for name, table in manifest.tables.items():
            tables[operator, name].append((batch, table))
    return [
        TableSize(
            operator,
            name,
            rows=sum(piece.rows for _, table in of_buckets for piece in table.pieces),
            bytes=sum(piece.length for _, table in of_buckets for piece in table.pieces),
            segments=sum(len(table.segments) for _, table in of_buckets),
            pieces=sum(1 for _, table in of_buckets for _ in table.pieces),
            buckets=sum(bool(table.segments) for _, table in of_buckets),
            batch=max(batch for batch, _ in of_buckets),
        )
        for (operator, name), of_buckets in sorted(tables.items())
    ]


def _buckets_of_rows(storage: StateStorage) -> Iterator[str]:
    """Not the folder in which an operator's event time is kept."""
    return (folder for folder in _buckets(storage) if folder.rpartition("/")[2].isdigit())


def _buckets(storage: StateStorage) -> Iterator[str]:
    for operator in storage.names(""):
        yield from (f"{operator}/{bucket}" for bucket in storage.names(operator))
