"""Chooses the partition of a message where Kafka's producer does not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext

from millstream.spark.batch_number import batch_number
from millstream.spark.job_errors import UnwritableRowError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from millstream.connectors.kafka.custom_partitioner import SinkPartitioner

    Choose = Callable[[bytes | None, bytes | None, str], int]


@dataclass(frozen=True, slots=True)
class Choice:
    """How the tasks that write a table choose; it is pickled and sent to them."""

    table: str
    topic: str | None
    """The only topic; None if each message names its own."""
    parallelism: int | None
    partitions_of: Callable[[str], tuple[int, ...]]
    """Called once per topic in each task of a batch, so that added partitions are noticed."""
    custom_name: str = ""
    custom: Callable[[], SinkPartitioner] | None = None
    """Without it the choice is fixed: a task writes to one partition."""

    def open(self, task: int) -> Choose:
        """For one task of one batch."""
        partitions_of = cache(self.partitions_of)
        if self.custom is None:
            return lambda _key, _value, topic: partitions_of(topic)[task % len(partitions_of(topic))]
        partitioner = self._make_partitioner(self.custom, task)

        def choose(key: bytes | None, value: bytes | None, topic: str) -> int:
            partitions = partitions_of(topic)
            try:
                chosen = partitioner.partition(key, value, topic, partitions)
            except Exception as error:  # the user's class may raise anything
                raise self._failure(error) from error
            if chosen not in partitions:
                there = f"partitions 0 to {partitions[-1]}" if len(partitions) > 1 else "partition 0 only"
                raise UnwritableRowError(
                    self.table,
                    f"Partitioner '{self.custom_name}' chose {chosen!r} for topic {topic}, which has {there}.",
                )
            return int(chosen)

        return choose

    def _make_partitioner(self, make: Callable[[], SinkPartitioner], task: int) -> SinkPartitioner:
        try:
            partitioner = make()
            if open_ := getattr(partitioner, "open", None):
                open_(task, self.parallelism)
        except Exception as error:
            raise self._failure(error) from error
        return partitioner

    def _failure(self, error: Exception) -> UnwritableRowError:
        why = f"{type(error).__name__}: {error}"
        return UnwritableRowError(self.table, f"Partitioner '{self.custom_name}' failed with {why}.")


def choose_partitions(choice: Choice, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Adds a column `partition` to the messages."""
    context = TaskContext.get()
    assert context is not None
    task = context.partitionId()
    # In a statement set, the tasks of all sinks are numbered consecutively.
    choose = choice.open(task if choice.parallelism is None else task % choice.parallelism)
    for batch in batches:
        keys = batch.column("key").to_pylist() if "key" in batch.schema.names else [None] * batch.num_rows
        topics = batch.column("topic").to_pylist() if choice.topic is None else [choice.topic] * batch.num_rows
        chosen = map(choose, keys, batch.column("value").to_pylist(), topics)
        yield batch.append_column("partition", pa.array(chosen, pa.int32()))


@dataclass(frozen=True, slots=True)
class Rotation:
    """Distributes messages without a key over the partitions of their topic in turn: round-robin."""

    topic: str | None
    partitions_of: Callable[[str], tuple[int, ...]]
    """These two are as in Choice."""

    def turns(self, first: int) -> Callable[[str], Iterator[int]]:
        """The partitions of a topic, repeatedly; `first` says which of them comes first."""

        @cache
        def turns_of(topic: str) -> Iterator[int]:
            partitions = self.partitions_of(topic)
            return islice(cycle(partitions), first % len(partitions), None)

        return turns_of


def rotate_partitions(rotation: Rotation, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Adds a column `partition` to the messages.

    A task lives as long as a batch. Starting at a partition that depends on the numbers of the task and the batch keeps
    the distribution even for batches of one row too.
    """
    context = TaskContext.get()
    assert context is not None
    turns_of = rotation.turns(context.partitionId() + batch_number())
    for batch in batches:
        if rotation.topic is None:
            chosen = [next(turns_of(topic)) for topic in batch.column("topic").to_pylist()]
        else:
            chosen = list(islice(turns_of(rotation.topic), batch.num_rows)) if batch.num_rows else []
        yield batch.append_column("partition", pa.array(chosen, pa.int32()))
