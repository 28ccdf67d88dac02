"""The last step of a task whose messages are written at least once, by the worker that has encoded them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from millstream.delivery.delivery_error import DeliveryError
from millstream.delivery.plain_writer import PlainWriter
from millstream.spark.job_errors import UndeliveredError
from millstream.spark.observed_counts import DELIVERED
from millstream.spark.task_input import require_all, require_end_markers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.connectors.kafka.tables import KafkaSink
    from millstream.spark.delivery import Dispatch

_IDLE_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class WorkerDelivery:
    """A step that writes the messages of one table as they come, and returns their number when Kafka has them all.

    A task that fails gives up what is still on its way, and its repetition writes everything again.
    """

    table: str
    topic: str | None
    properties: dict[str, str] = field(repr=False)

    @classmethod
    def to(cls, sink: KafkaSink, dispatch: Dispatch) -> WorkerDelivery:
        topic = sink.topic if len(sink.topics) == 1 else None
        return cls(sink.table.name, topic, dispatch.properties_of(sink))

    def __reduce__(self) -> tuple[Any, ...]:
        """A worker unpickles its step before it opens the rows of the task."""
        return _unpickle, tuple(getattr(self, part.name) for part in fields(self))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        count = 0
        try:
            for batch in require_all(batches):
                if batch.num_rows:
                    _WRITERS.of(self).write(self.topic, batch)
                    count += batch.num_rows
                yield _counts()  # so that other readers of the same rows get their turn
            if count:
                _WRITERS.of(self).flush()
        except DeliveryError as error:
            _WRITERS.give_up(self)
            raise UndeliveredError(self.table, error.failure, error.why) from None
        except BaseException:  # also if nobody asks for the rest
            _WRITERS.give_up(self)
            raise
        if count:
            yield _counts(count)

    @property
    def key(self) -> tuple[str, ...]:
        return (self.table, *(f"{name}={value}" for name, value in sorted(self.properties.items())))


def _unpickle(*parts: Any) -> WorkerDelivery:
    require_end_markers()
    return WorkerDelivery(*parts)


def _counts(*messages: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(messages, pa.int64())], names=[DELIVERED])


class _Writers:
    """A writer per table for all tasks of this worker: a new one has to connect first."""

    def __init__(self) -> None:
        self._writers: dict[tuple[str, ...], PlainWriter] = {}
        self._used: dict[tuple[str, ...], float] = {}

    def of(self, delivery: WorkerDelivery) -> PlainWriter:
        if delivery.key not in self._writers:
            self._close_idle()
            self._writers[delivery.key] = PlainWriter(delivery.properties)
        self._used[delivery.key] = time.monotonic()
        return self._writers[delivery.key]

    def give_up(self, delivery: WorkerDelivery) -> None:
        self._close(delivery.key)

    def _close_idle(self) -> None:
        """Those of jobs that have ended: a worker may outlive many."""
        for key in [key for key, used in self._used.items() if time.monotonic() - used > _IDLE_SECONDS]:
            self._close(key)

    def _close(self, key: tuple[str, ...]) -> None:
        self._used.pop(key, None)
        if writer := self._writers.pop(key, None):
            writer.close()


_WRITERS: Final = _Writers()
