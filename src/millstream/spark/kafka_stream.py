"""A stream of Spark's that plans ranges of offsets on the driver, and reads them in the step that uses the messages.

Spark keeps the offsets of each batch in the checkpoint, in the form of its own Kafka source.
"""

from __future__ import annotations

import pickle
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadMaxRows, SupportsTriggerAvailableNow

from millstream.reading.kept_starts import keep_starts
from millstream.reading.message_reader import read_messages
from millstream.reading.offset_plan import bound, flatten, group_ranges, nest, plan_ends, ranges_between, refuse_losses
from millstream.reading.topic_offsets import TopicOffsets
from millstream.spark.task_input import mark_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

    from millstream.connectors.kafka.read_range import Offsets, Tally
    from millstream.reading.read_request import ReadRequest

    Step = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class MessageStream:
    """Messages that nobody has read yet."""

    spark: SparkSession
    request: ReadRequest
    counter: Tally | None = None
    """Counts the messages that are read."""

    def run(self, step: Step, schema: StructType) -> DataFrame:
        """What a step makes of the messages, in the workers that read them."""
        # Pickled here, so that only workers load what a step needs.
        source = _make_source(self.request, cloudpickle.dumps((step, self.counter)), schema)
        self.spark.dataSource.register(source)
        return self.spark.readStream.format(source.name()).load()


def _make_source(request: ReadRequest, step: bytes, result: StructType) -> type[DataSource]:
    """A class, because that is what Spark registers; it has no other way to pass something to the workers."""
    unique_name = f"kafka-{uuid.uuid4().hex}"

    class KafkaStream(DataSource):
        @classmethod
        def name(cls) -> str:
            return unique_name

        def schema(self) -> StructType:
            return result

        def streamReader(self, schema: StructType) -> KafkaStreamReader:  # noqa: N802
            return KafkaStreamReader(request, step, to_arrow_schema(schema, timezone="UTC"))

    return KafkaStream


class KafkaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches, in a process of the driver's, and reads them, in workers."""

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
        return [InputPartition(group) for group in groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        step: Step
        counter: Tally | None
        step, counter = pickle.loads(self._step)  # noqa: S301 - our own
        for batch in step(mark_end(_count(read_messages(self._request, partition.value), counter))):
            yield _conform(batch, self._schema)

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
