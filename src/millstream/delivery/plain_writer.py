"""At-least-once delivery, from the process that has made the messages."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaError, KafkaException, Producer

from millstream.connectors.kafka.producer_settings import producer_settings
from millstream.delivery.delivery_error import DeliveryError, Failure, refusal_error
from millstream.delivery.messages import PRODUCER_ROOM, Undelivered, produce
from millstream.failpoints import is_armed, reach
from millstream.librdkafka.batch_producer import BatchProducer
from millstream.librdkafka.library import ClientError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FLUSH_SECONDS: Final = 600.0
_LOOK_SECONDS: Final = 0.1
_ANY_PARTITION: Final = -1
_ROWS_TO_END_IN: Final = 4
"""Lets tests with few messages end a job in the middle of them."""
_NOT_IN_COLUMNS: Final = frozenset({"headers", "timestamp"})
"""What librdkafka takes for single messages only."""


class PlainWriter:
    """Kept from task to task; after a failure it is closed."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._settings = producer_settings(properties)
        self._undelivered = Undelivered()

    def write(self, topic: str | None, batch: pa.RecordBatch) -> None:
        """Returns before the messages are with the broker; without a topic, each message names its own."""
        rows = _ROWS_TO_END_IN if is_armed("mid-produce") else batch.num_rows
        for start in range(0, batch.num_rows, rows):
            with _explain():
                self._write_some(topic, batch.slice(start, rows))
            reach("mid-produce", self.flush)

    def flush(self) -> None:
        """Returns when all messages are with the broker."""
        with _explain():
            if "_batch_producer" in self.__dict__:
                self._batch_producer.flush(_FLUSH_SECONDS)
            if "_producer" in self.__dict__:
                while self._producer.flush(_LOOK_SECONDS):
                    self._undelivered.raise_any()
                self._undelivered.raise_any()

    def close(self) -> None:
        """Gives up what is not delivered: a task that did not finish delivers all of its messages again."""
        if "_batch_producer" in self.__dict__:
            self._batch_producer.close()
        if "_producer" in self.__dict__:
            self._producer.purge()

    def _write_some(self, topic: str | None, batch: pa.RecordBatch) -> None:
        if _NOT_IN_COLUMNS & set(batch.schema.names):
            produce(self._producer, topic, [batch])
            return
        for name, messages in _split_by_topic(topic, batch):
            columns = dict(zip(messages.schema.names, messages.columns, strict=True))
            keys, partitions = columns.get("key"), columns.get("partition")
            self._batch_producer.send(
                name,
                None if keys is None else keys.cast(pa.binary()),
                columns["value"].cast(pa.binary()),
                None if partitions is None else partitions.fill_null(_ANY_PARTITION).to_numpy(),
            )

    @cached_property
    def _batch_producer(self) -> BatchProducer:
        return BatchProducer(self._settings)

    @cached_property
    def _producer(self) -> Producer:
        callbacks = {"on_delivery": self._undelivered.take, "error_cb": self._undelivered.take_error}
        return Producer({**self._settings, **PRODUCER_ROOM, **callbacks})


def _split_by_topic(topic: str | None, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    if topic is not None:
        yield topic, batch
        return
    topics = batch.column("topic")
    names = topics.unique().to_pylist()
    for name in names:
        yield name, batch if len(names) == 1 else batch.filter(pc.equal(topics, name))


@contextmanager
def _explain() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        raise refusal_error(KafkaException(KafkaError(error.code, error.text))) from error
    except KafkaException as error:
        raise refusal_error(error) from error
    except ValueError as error:
        raise DeliveryError(Failure.BAD_PROPERTIES, f"{str(error).rstrip('.')}.") from error
