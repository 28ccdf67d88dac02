"""What the steps of a task count, sent to the driver behind the task's last row. A worker runs one task at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.spark.observed_counts import COUNTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(slots=True)
class _Counts:
    ignored: int = 0
    late: int = 0


_COUNTS = _Counts()


def count_step(ignored: int, late: int) -> None:
    """Counts retractions of rows that were not there, and rows that came too late."""
    _COUNTS.ignored += ignored
    _COUNTS.late += late


def append_counts(
    step: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    schema: pa.Schema,
    batches: Iterator[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The rows of `step` with an empty column for counts, and behind them a row with nothing else for each count."""
    _COUNTS.ignored = _COUNTS.late = 0
    for batch in step(batches):
        empty = pa.nulls(batch.num_rows, pa.int64())
        yield pa.RecordBatch.from_arrays([*batch.columns, empty], [*batch.schema.names, COUNTED])
    counts = [count for count in (_COUNTS.ignored, -_COUNTS.late) if count]
    if counts:
        nothing = [pa.nulls(len(counts), field.type) for field in schema]
        yield pa.RecordBatch.from_arrays([*nothing, pa.array(counts, pa.int64())], [*schema.names, COUNTED])
