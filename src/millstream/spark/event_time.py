"""How far event time has come in each split, on its way from where rows are read to every bucket of a kernel.

A filter may drop the row that closes a window, so the time of a row counts where the row is read: a step notes it, and
the step that packs the rows of the same task for a kernel sends what was noted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from millstream.kernels.operator import MAX_WATERMARK
from millstream.kernels.watermark import SEPARATOR, SplitReport, TimeSource, merge_reports
from millstream.plan.vectorised.evaluators import to_array
from millstream.spark.packets import pack_for_all, unpack
from millstream.spark.splits import SPLIT, place_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from millstream.plan.vectorised.evaluators import Evaluator

EVENT_TIME: Final = "__event_time"
"""The part of packets that tell of it, and the column with the watermark of a row where Spark has computed it."""
_SCHEMA: Final = pa.schema([("split", pa.string()), ("highest", pa.int64()), ("is_active", pa.bool_())])


@dataclass(slots=True)
class _Notes:
    """What the steps of a task have noted so far. A worker runs one task at a time."""

    task: int | None = None
    reports: dict[str, SplitReport] = field(default_factory=dict)


_NOTES: Final = _Notes()


def note(reports: Mapping[str, SplitReport]) -> None:
    merge_reports(_notes_of(_task()).reports, reports)


def note_places(scan: str, places: Iterable[tuple[str, bool]]) -> None:
    """These partitions exist: each holds the watermark back until it has rows, is idle, or has come to its end."""
    reports = {False: SplitReport(is_active=False), True: SplitReport(MAX_WATERMARK, is_active=False)}
    note({_split_of(scan, place): reports[has_ended] for place, has_ended in places})


def noted(ids: Collection[str]) -> dict[str, SplitReport]:
    """What this task knows of these sources; it may have noted it in another worker."""
    task = _task()
    notes, file = _notes_of(task), _file_of(task)
    if file.exists():
        merge_reports(notes.reports, to_reports(unpack(file.read_bytes())))
        file.unlink()
    return {name: report for name, report in notes.reports.items() if name.partition(SEPARATOR)[0] in ids}


def hand_over(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows go on in Spark, and from there to another worker in the same task: what was noted goes beside them."""
    yield from batches
    task = _task()
    reports = _notes_of(task).reports
    if reports:
        with pa.OSFile(str(_file_of(task)), "wb") as sink, pa.ipc.new_stream(sink, _SCHEMA) as writer:
            writer.write_table(to_table(reports))


def pack_noted(ids: Collection[str], buckets: int) -> pa.RecordBatch:
    """Of these sources, to be sent behind the last row of the task; it also says that there was a batch."""
    return pack_for_all(EVENT_TIME, to_table(noted(ids)), buckets)


def to_table(reports: Mapping[str, SplitReport]) -> pa.Table:
    rows = [(name, report.highest, report.is_active) for name, report in reports.items()]
    columns: list[Any] = list(zip(*rows, strict=True)) or [(), (), ()]
    return pa.table(
        [pa.array(column, part.type) for column, part in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA
    )


def to_reports(table: pa.Table) -> dict[str, SplitReport]:
    names, *columns = table.to_pydict().values()
    return {name: SplitReport(*values) for name, *values in zip(names, *columns, strict=True)}


def note_times(scan: str, watermark: Evaluator, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Notes the watermark of each row, and passes the rows on as they are."""
    for batch in batches:
        note(_reports_of(scan, batch, to_array(watermark.evaluate(batch), batch.num_rows)))
        yield batch


def take_times(scan: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Notes the watermarks that Spark has computed, and gives the rows without them."""
    for batch in batches:
        note(_reports_of(scan, batch, batch.column(EVENT_TIME)))
        yield batch.drop_columns([EVENT_TIME])


def drop_splits(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (batch.drop_columns([SPLIT]) for batch in batches)


def _reports_of(scan: str, rows: pa.RecordBatch, watermarks: pa.Array) -> dict[str, SplitReport]:
    """Positions in files are splits too, but a file that ends must not hold back the time of those that come."""
    has_partitions = SPLIT in rows.schema.names and not pa.types.is_int64(rows.schema.field(SPLIT).type)
    splits = rows.column(SPLIT) if has_partitions else pa.repeat(pa.scalar(""), rows.num_rows)
    table = pa.table({"split": splits, "time": _to_milliseconds(watermarks)})
    found = table.group_by("split").aggregate([("time", "max")])
    pairs = zip(found.column("split").to_pylist(), found.column("time_max").to_pylist(), strict=True)
    return {_split_of(scan, place_of(split)): SplitReport(highest) for split, highest in pairs}


def _split_of(scan: str, place: str) -> str:
    return TimeSource(scan).name_of(place)


def _to_milliseconds(times: pa.Array) -> pa.Array:
    """Of a TIMESTAMP, as if it were UTC; Arrow would not cast away what is finer."""
    if not pa.types.is_timestamp(times.type):
        return times.cast(pa.int64())
    return pc.floor_temporal(times, unit="millisecond").cast(pa.timestamp("ms", times.type.tz)).cast(pa.int64())


def _task() -> int:
    """An attempt of a task; it has several workers where its rows go back to Spark in between."""
    context = TaskContext.get()
    return -1 if context is None else context.taskAttemptId()


def _notes_of(task: int) -> _Notes:
    if _NOTES.task != task:
        _NOTES.task, _NOTES.reports = task, {}
    return _NOTES


def _file_of(task: int) -> Path:
    """In the folder for temporary files that Spark gives the workers of a job, and removes in the end."""
    folder, *_ = os.environ["SPARK_LOCAL_DIRS"].split(",")
    return Path(folder) / f"event-time-{task}.arrow"
