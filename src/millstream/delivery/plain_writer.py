"""At-least-once delivery by our own producer, for what Spark's sink cannot write: the timestamp of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaException, Producer

from millstream.connectors.kafka.client_settings import producer_settings
from millstream.delivery.delivery_error import refusal_error
from millstream.delivery.messages import PRODUCER_ROOM, Undelivered, produce

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from millstream.delivery.request import DeliveryRequest

_FLUSH_SECONDS: Final = 600.0


class PlainWriter:
    def __init__(self, properties: Mapping[str, str]) -> None:
        self._undelivered = Undelivered()
        settings = {**producer_settings(properties), **PRODUCER_ROOM, "on_delivery": self._undelivered.take}
        self._producer = Producer(settings)

    def deliver(self, request: DeliveryRequest, batches: Iterable[pa.RecordBatch]) -> None:
        try:
            produce(self._producer, request.topic, batches)
            self._undelivered.raise_any(still_waiting=self._producer.flush(_FLUSH_SECONDS))
        except KafkaException as error:
            raise refusal_error(error) from error

    def close(self) -> None:
        """A task that did not finish delivers all of its messages again."""
        self._producer.purge()
