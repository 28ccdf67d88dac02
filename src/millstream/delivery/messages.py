"""Passes Arrow batches of messages to a producer."""

from __future__ import annotations

from collections import deque
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaError, KafkaException

from millstream.failpoints import is_armed, reach

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from confluent_kafka import Producer

_MOST_WAITING: Final = 100_000
"""The number of messages queued in a producer: less than its limit, so that none is rejected and the order is kept."""
_MOST_BYTES_WAITING: Final = 256 << 20
_CHUNK: Final = 16_384
_CHUNK_TO_END_IN: Final = 4
"""Lets tests with few messages end a job in the middle of them."""
_LOOK_SECONDS: Final = 0.01
_ANY_PARTITION: Final = -1

PRODUCER_ROOM: Final = {
    "queue.buffering.max.messages": 4 * _MOST_WAITING,
    "queue.buffering.max.kbytes": 2_097_151,
    "delivery.report.only.error": True,
}


def produce(producer: Producer, topic: str | None, batches: Iterable[pa.RecordBatch]) -> None:
    """Produces all messages in order; returns when the producer has the last one, which is before the broker has it."""
    for batch in batches:
        room = _room_for(batch)
        chunk = min(room, _CHUNK_TO_END_IN if is_armed("mid-produce") else _CHUNK)
        for start in range(0, batch.num_rows, chunk):
            _produce_some(producer, topic, batch.slice(start, chunk))
            # A producer that cannot send anything raises eventually, because its messages have a timeout.
            while len(producer) > room:
                producer.poll(_LOOK_SECONDS)
            reach("mid-produce", producer.flush)


def _room_for(batch: pa.RecordBatch) -> int:
    """How many messages of this size may be queued."""
    average = int(batch.nbytes) // max(int(batch.num_rows), 1)
    return max(1, min(_MOST_WAITING, _MOST_BYTES_WAITING // max(average, 1)))


def _produce_some(producer: Producer, topic: str | None, batch: pa.RecordBatch) -> None:
    columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
    topics = repeat(topic) if topic is not None else columns["topic"]
    arguments: list[Iterable[Any]] = [topics, columns["value"], columns.get("key", repeat(None))]
    if {"partition", "timestamp", "headers"} & columns.keys():
        arguments += [
            (_ANY_PARTITION if each is None else each for each in columns.get("partition", repeat(None))),
            repeat(None),
            repeat(None),
            (0 if each is None else each for each in columns.get("timestamp", repeat(None))),
            (None if each is None else _pairs(each) for each in columns.get("headers", repeat(None))),
        ]
    deque(map(producer.produce, *arguments), maxlen=0)


def _pairs(headers: list[dict[str, Any]]) -> list[tuple[str, bytes | None]]:
    return [(header["key"], header["value"]) for header in headers]


class Undelivered:
    """Remembers the first message that a producer without transactions failed to deliver."""

    def __init__(self) -> None:
        self._first: KafkaError | None = None

    def take(self, error: KafkaError | None, _message: object) -> None:
        self._first = self._first or error

    def take_error(self, error: KafkaError) -> None:
        """Messages of a client that cannot log in would wait until they time out."""
        if error.code() == KafkaError._AUTHENTICATION:  # noqa: SLF001
            self.take(error, None)

    def raise_any(self) -> None:
        if self._first is not None:
            raise KafkaException(self._first)
