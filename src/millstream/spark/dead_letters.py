"""Dead letters are written by the Python worker that could not read them, before it hands on any row behind them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException, Producer

from millstream.connectors.dead_letters import DeadLetterHeader
from millstream.connectors.kafka_client_settings import client_settings
from millstream.spark.failures import DeadLetterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confluent_kafka import KafkaError, Message

    from millstream.connectors.dead_letters import DeadLetterTopic

_SETTINGS: Final = {
    "acks": "all",
    "enable.idempotence": True,
    "partitioner": "murmur2_random",  # as Java's producer does: a key goes where it would have gone there
    "message.max.bytes": 1_000_000_000,  # the broker knows what is too large
    "delivery.timeout.ms": 120_000,
}
_ROOM_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message as it was, where it stood, and why it could not be read."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    topic: str
    partition: int
    offset: int
    timestamp: int
    error: str


def write_dead_letters(to: DeadLetterTopic, letters: Iterable[DeadLetter]) -> None:
    """Returns when all of them are in Kafka, and raises DeadLetterError if one is not."""
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error)

    try:
        producer = _producer(tuple(sorted(to.properties.items())))
        for letter in letters:
            content = {"key": letter.key, "value": letter.value, "headers": [*letter.headers, *_told(letter, to.table)]}
            while not _is_taken(producer, to.topic, content, delivered):
                producer.poll(_ROOM_SECONDS)
        producer.flush()
    except KafkaException as error:
        failures.append(error.args[0])
    if failures:
        raise DeadLetterError(to.table, to.topic, str(failures[0].str()).rstrip("."))


@cache
def _producer(properties: tuple[tuple[str, str], ...]) -> Producer:
    """One for all tasks of a worker: to make one takes a connection."""
    return Producer({**client_settings(dict(properties)), **_SETTINGS})


def _is_taken(producer: Producer, topic: str, content: dict[str, Any], delivered: Any) -> bool:
    """Whether there was room in the producer's queue."""
    try:
        producer.produce(topic, **content, on_delivery=delivered)
    except BufferError:
        return False
    return True


def _told(letter: DeadLetter, table: str) -> list[tuple[str, bytes]]:
    texts = {
        DeadLetterHeader.TOPIC: letter.topic,
        DeadLetterHeader.PARTITION: letter.partition,
        DeadLetterHeader.OFFSET: letter.offset,
        DeadLetterHeader.TIMESTAMP: letter.timestamp,
        DeadLetterHeader.TABLE: table,
        DeadLetterHeader.ERROR: letter.error,
    }
    return [(header.value, str(text).encode()) for header, text in texts.items()]
