"""What the steps of a task count, sent to the driver behind the task's last row. A worker runs one task at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.spark.observed_counts import IGNORED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(slots=True)
class _Counts:
    ignored: int = 0


_COUNTS = _Counts()


def count_ignored(retractions: int) -> None:
    """Counts retractions of rows that were not there."""
    _COUNTS.ignored += retractions


def append_counts(
    step: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The rows of `step` with an empty column for counts, and a row that has nothing else if there are any."""
    _COUNTS.ignored = 0
    for batch in step(batches):
        empty = pa.nulls(batch.num_rows, pa.int64())
        yield pa.RecordBatch.from_arrays([*batch.columns, empty], [*batch.schema.names, IGNORED])
    if _COUNTS.ignored:
        nothing = [pa.nulls(1, field.type) for field in schema]
        counted = pa.array([_COUNTS.ignored], pa.int64())
        yield pa.RecordBatch.from_arrays([*nothing, counted], [*schema.names, IGNORED])
