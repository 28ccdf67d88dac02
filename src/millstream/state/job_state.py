"""The state of a whole job, for its driver: what is discarded before a start, and how large it is."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.state.bucket import manifest_numbers, read_manifest
from millstream.state.storage import StateFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.state.storage import StateStorage


@dataclass(frozen=True, slots=True)
class TableSize:
    """What an operator's table holds, in all buckets."""

    operator: str
    table: str
    rows: int
    bytes: int
    pieces: int


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
    sizes: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for folder in _buckets(storage):
        numbers = manifest_numbers(storage.names(folder))
        if not numbers:
            continue
        try:
            manifest = read_manifest(storage, folder, max(numbers))
        except StateFileError:  # replaced or discarded at this moment; a damaged one is named by the job that reads it
            continue
        for name, table in manifest.tables.items():
            size = sizes[folder.partition("/")[0], name]
            for piece in table.pieces:
                size[0] += piece.rows
                size[1] += piece.length
                size[2] += 1
    return [TableSize(operator, table, *size) for (operator, table), size in sorted(sizes.items())]


def _buckets(storage: StateStorage) -> Iterator[str]:
    for operator in storage.names(""):
        yield from (f"{operator}/{bucket}" for bucket in storage.names(operator))
