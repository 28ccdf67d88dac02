"""How far event time has come in each split of an input, on its way from where rows are read to every bucket.

A filter may drop the row that closes a window, so the time of a row counts where the row is read. A worker runs one
task at a time, and in it the steps from a source up to the packets.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.spark.packets import pack_for_all
from millstream.spark.splits import SPLIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.spark.python_stage import PythonStage

EVENT_TIME: Final = "__event_time"
"""The column with the watermark of a row in milliseconds since the epoch, and the part of packets that tell of it."""
_SCHEMA: Final = pa.schema([("split", pa.string()), ("highest", pa.int64())])
_READ: Final[dict[str, int | None]] = {}
"""What the task has read so far."""


def record_event_time(rows: PythonStage, column: str, delay_ms: int) -> PythonStage:
    """Notes the watermark of each row, its event time less `delay_ms`, before anything else is done with the rows."""
    return rows.pipe(partial(_record, column, delay_ms), rows.schema, records_time=True)


class EventTimes:
    """What the packing step of an input knows of event time.

    Rows that have come through Spark carry it in a column; for those that stayed in Python, it has been recorded.
    """

    def __init__(self, input_name: str, *, is_recorded: bool) -> None:
        self._input = input_name
        self._highest: dict[str, int | None] = _READ if is_recorded else {}

    def take_from(self, rows: pa.Table) -> pa.Table:
        """The rows without the columns of time."""
        if EVENT_TIME in rows.schema.names:
            merge_highest(self._highest, _highest_by_split(rows, rows.column(EVENT_TIME)))
        return rows.drop_columns([name for name in (EVENT_TIME, SPLIT) if name in rows.schema.names])

    def packets(self, buckets: int) -> pa.RecordBatch:
        """To be sent behind the last row of the task."""
        names = [f"{self._input}:{split}" for split in self._highest]
        table = pa.table([pa.array(names, pa.string()), pa.array(self._highest.values(), pa.int64())], schema=_SCHEMA)
        return pack_for_all(EVENT_TIME, table, buckets)


def merge_highest(into: dict[str, int | None], found: pa.Table) -> None:
    for split, highest in zip(*(column.to_pylist() for column in found.columns), strict=True):
        known = into.get(split)
        into[split] = highest if known is None else max(known, known if highest is None else highest)


def _record(column: str, delay_ms: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    _READ.clear()
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        times = pc.subtract(_to_milliseconds(rows.column(column)), delay_ms)
        merge_highest(_READ, _highest_by_split(rows, times))
        yield batch


def _to_milliseconds(times: pa.ChunkedArray) -> pa.ChunkedArray:
    """Of a TIMESTAMP, as if it were UTC; Arrow would not cast away what is finer."""
    if not pa.types.is_timestamp(times.type):
        return times.cast(pa.int64())
    return pc.floor_temporal(times, unit="millisecond").cast(pa.timestamp("ms", times.type.tz)).cast(pa.int64())


def _highest_by_split(rows: pa.Table, times: pa.ChunkedArray) -> pa.Table:
    """Positions in files are splits too, but a file that ends must not hold back the time of those that come."""
    has_splits = SPLIT in rows.schema.names and not pa.types.is_int64(rows.schema.field(SPLIT).type)
    splits = rows.column(SPLIT).cast(pa.string()) if has_splits else pa.repeat("", rows.num_rows)
    found = pa.table({"split": splits, "time": times}).group_by("split").aggregate([("time", "max")])
    return found.select(["split", "time_max"]).rename_columns(_SCHEMA.names).cast(_SCHEMA)
