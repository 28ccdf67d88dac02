"""The last step of a task whose messages are written in a transaction, by a delivery process."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as F  # noqa: N812

from millstream.delivery.client import deliver
from millstream.delivery.delivery_error import DeliveryError
from millstream.delivery.request import DeliveryRequest
from millstream.spark.batch_number import batch_number
from millstream.spark.job_errors import UndeliveredError
from millstream.spark.observed_counts import DELIVERED, fresh_name
from millstream.spark.splits import SPLIT
from millstream.spark.task_input import require_all, require_end_markers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from millstream.connectors.kafka.tables import KafkaSink
    from millstream.delivery.request import Transactions


@dataclass(frozen=True, slots=True)
class Dispatch:
    """What all deliveries of a job have in common."""

    folder: Path
    """The folder for sockets, on each machine that has workers."""
    transactions: Mapping[str, Transactions] = field(default_factory=dict)
    """The transactions of each exactly-once table."""
    request_limits: Mapping[str, int] = field(default_factory=dict)
    """The largest request in bytes, for tables whose topics accept less than a producer would send."""

    @property
    def is_exactly_once(self) -> bool:
        return bool(self.transactions)

    def properties_of(self, sink: KafkaSink) -> dict[str, str]:
        """For the producers of its messages."""
        limit = self.request_limits.get(sink.table.name)
        return {**sink.properties, **({} if limit is None else {"batch.size": str(limit)})}


@dataclass(frozen=True, slots=True)
class Delivering:
    """A step that delivers the messages of one table and returns their number. A failed task commits nothing."""

    table: str
    topic: str | None
    properties: dict[str, str] = field(repr=False)
    transactions: Transactions
    folder: Path

    @classmethod
    def to(cls, sink: KafkaSink, dispatch: Dispatch) -> Delivering:
        topic = sink.topic if len(sink.topics) == 1 else None
        name = sink.table.name
        return cls(name, topic, dispatch.properties_of(sink), dispatch.transactions[name], dispatch.folder)

    def __reduce__(self) -> tuple[Any, ...]:
        """A worker unpickles its step before it opens the rows of the task."""
        return _unpickle, tuple(getattr(self, part.name) for part in fields(self))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        present = (batch for batch in require_all(batches) if batch.num_rows)
        first = next(present, None)
        if first is None:
            return  # nothing to write, neither now nor when this batch is repeated
        context = TaskContext.get()
        assert context is not None
        writer = f"p{first.column(SPLIT)[0].as_py()}" if SPLIT in first.schema.names else str(context.partitionId())
        request = DeliveryRequest(self.table, self.topic, self.properties, writer, batch_number(), self.transactions)
        messages = _Counted(first, present)
        try:
            deliver(self.folder, _process_number(writer), request, messages.batches())
        except DeliveryError as error:
            raise UndeliveredError(self.table, error.failure, error.why) from None
        yield pa.RecordBatch.from_arrays([pa.array([messages.count], pa.int64())], names=[DELIVERED])


def _unpickle(*parts: Any) -> Delivering:
    require_end_markers()
    return Delivering(*parts)


class _Counted:
    def __init__(self, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> None:
        self.count = 0
        self._first = first
        self._rest = rest

    def batches(self) -> Iterator[pa.RecordBatch]:
        columns = [name for name in self._first.schema.names if name != SPLIT]
        for batch in chain([self._first], self._rest):
            self.count += batch.num_rows
            yield batch.select(columns)


def _process_number(writer: str) -> int:
    """One process per core serves the writers, so that each has a Python interpreter lock of its own."""
    number = re.search(r"\d+$", writer)
    return int(number[0] if number else 0) % (os.cpu_count() or 1)


def start_delivery(counts: DataFrame) -> DataStreamWriter:
    """Messages are written while Spark computes the counts, which are observed and then discarded."""
    return counts.observe(fresh_name(), F.sum(DELIVERED).alias(DELIVERED)).writeStream.format("noop")
