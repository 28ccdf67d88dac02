"""Plans batches of offsets, in a process of the driver's, and reads them in the step that uses them, in workers.

Apart from the stream itself, because the process that creates a source loads only that.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadMaxRows, SupportsTriggerAvailableNow

from millstream.reading.kept_starts import keep_starts
from millstream.reading.message_reader import read_messages
from millstream.reading.offset_plan import bound, flatten, group_ranges, nest, plan_ends, ranges_between, refuse_losses
from millstream.reading.topic_offsets import TopicOffsets
from millstream.spark.task_input import mark_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql.streaming.datasource import ReadLimit

    from millstream.connectors.kafka.read_range import Offsets, Tally
    from millstream.librdkafka.partition_consumer import Range
    from millstream.reading.read_request import ReadRequest

    Step = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class TaskReads:
    ranges: tuple[Range, ...]
    places: tuple[tuple[str, bool], ...] = ()
    """All partitions that there are, if this task is to tell, and whether this batch is the last with rows of each."""


class KafkaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, request: ReadRequest, step: bytes, schema: pa.Schema) -> None:
        """`step` is a pickled Step, with the counter of messages if there is one."""
        self._request = request
        self._step = step
        self._schema = schema
        self._asked: TopicOffsets | None = None
        self._latest: Offsets = {}
        self._last: Offsets | None = None
        """Where the stream is to end, if it ends."""

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        request, offsets = self._request, self._offsets()

        def ask() -> Offsets:
            return offsets.earliest() if request.starts is None else request.starts

        found = keep_starts(request.folder, request.scan, ask, offsets.reads)
        return nest(found if self._request.ends is None else _not_beyond(found, self._request.ends))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._request.most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        if self._request.reads_nothing:
            return start
        starts = flatten(start)
        latest = self._offsets().latest() if self._last is None else self._last
        if self._request.may_lose:
            latest = {**starts, **latest}  # a topic that is not listed may come back
        else:
            refuse_losses(starts, latest)
        self._latest = bound(starts, latest, self._request.ends)
        return nest(plan_ends(starts, self._latest, limit.max_rows if isinstance(limit, ReadMaxRows) else None))

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        return nest(self._latest)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._last = self._offsets().latest()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        ranges = ranges_between(flatten(start), flatten(end))
        groups = (
            [(each,) for each in ranges] if self._request.keeps_apart else group_ranges(ranges, self._request.tasks)
        )
        if not self._request.tells_partitions:
            return [InputPartition(TaskReads(group)) for group in groups]
        first, *others = groups or [()]  # also if there is nothing but a new partition
        every = [TaskReads(first, self._places(flatten(end))), *map(TaskReads, others)]
        return [InputPartition(each) for each in every]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        step: Step
        counter: Tally | None
        step, counter = pickle.loads(self._step)  # noqa: S301 - our own
        reads: TaskReads = partition.value
        if reads.places:
            from millstream.spark.event_time import note_places  # the process that plans batches does not need it

            note_places(self._request.scan, reads.places)
        for batch in step(mark_end(_count(read_messages(self._request, reads.ranges), counter))):
            yield _conform(batch, self._schema)

    def _places(self, offsets: Offsets) -> tuple[tuple[str, bool], ...]:
        """The partitions, as rows name them."""
        has_one_topic, ends = len(self._request.topics) == 1, self._request.ends
        return tuple(
            (str(number) if has_one_topic else f"{topic}/{number}", ends is not None and offset >= ends[topic, number])
            for (topic, number), offset in sorted(offsets.items())
        )

    def _offsets(self) -> TopicOffsets:
        """Asked for when needed: a reader is sent to workers, and a client cannot be."""
        if self._asked is None:
            self._asked = TopicOffsets(self._request)
        return self._asked


def _not_beyond(starts: Offsets, ends: Offsets) -> Offsets:
    return {place: min(start, ends[place]) for place, start in starts.items() if place in ends}


def _count(batches: Iterator[pa.RecordBatch], counter: Tally | None) -> Iterator[pa.RecordBatch]:
    """Counts when all are read: an attempt that fails before counts nothing."""
    count = 0
    for batch in batches:
        count += batch.num_rows
        yield batch
    if counter is not None:
        counter.add(count)


def _conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Spark compares the types of the first batch with those that it expects."""
    if batch.schema.equals(schema):
        return batch
    columns = [batch.column(field.name).cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
