"""Dead letters are written by the Python worker that could not decode them, before it passes on any later row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer

from millstream.connectors.kafka.client_settings import client_settings
from millstream.connectors.kafka.dead_letters import LONGEST_ERROR_BYTES, DeadLetterHeader
from millstream.spark.job_errors import DeadLetterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from confluent_kafka import Message

    from millstream.connectors.kafka.dead_letters import DeadLetterTopic

_SETTINGS: Final = {
    "acks": "all",
    "enable.idempotence": True,
    "partitioner": "murmur2_random",  # as in Java's producer: a key goes to the partition that it would have there
    "message.max.bytes": 1_000_000_000,  # the broker decides what is too large
    "compression.type": "zstd",  # the size limit of the source topic may apply to compressed messages
    "delivery.timeout.ms": 120_000,
}
_ROOM_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message as it was, where it was read, and why it could not be decoded."""

    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    topic: str
    partition: int
    offset: int
    timestamp: int
    error: str

    @property
    def place(self) -> str:
        return f"Topic {self.topic}, partition {self.partition}, offset {self.offset}"


def write_dead_letters(to: DeadLetterTopic, letters: Iterable[DeadLetter]) -> None:
    """Returns when all of them are in Kafka; raises DeadLetterError if one is not."""
    for letter, error in _failures(to, letters):
        # A request holds several letters and may be too large as a whole, so each is also tried alone.
        again = _failures(to, [letter]) if _is_too_large(error) else [(letter, error)]
        for _, last in again:
            size = _size(letter, to.table) if _is_too_large(last) else None
            raise DeadLetterError(to.table, to.topic, str(last.str()).rstrip("."), letter.place, size)


def _failures(to: DeadLetterTopic, letters: Iterable[DeadLetter]) -> list[tuple[DeadLetter, KafkaError]]:
    failures: list[tuple[DeadLetter, KafkaError]] = []

    def report_to(letter: DeadLetter) -> Callable[[KafkaError | None, Message], None]:
        return lambda error, _message: failures.append((letter, error)) if error is not None else None

    producer = _producer(tuple(sorted(to.properties.items())))
    for letter in letters:
        content = {"key": letter.key, "value": letter.value, "headers": _headers(letter, to.table)}
        try:
            while not _is_taken(producer, to.topic, content, report_to(letter)):
                producer.poll(_ROOM_SECONDS)
        except KafkaException as error:
            failures.append((letter, error.args[0]))
    producer.flush()
    return failures


def _is_too_large(error: KafkaError) -> bool:
    return bool(error.code() == KafkaError.MSG_SIZE_TOO_LARGE)


def _size(letter: DeadLetter, table: str) -> int:
    """The size of key, value and headers: a lower bound of what the broker counts."""
    headers = sum(len(name.encode()) + len(value or b"") for name, value in _headers(letter, table))
    return len(letter.key or b"") + len(letter.value or b"") + headers


@cache
def _producer(properties: tuple[tuple[str, str], ...]) -> Producer:
    """One producer for all tasks of a worker: creating one takes a connection."""
    return Producer({**client_settings(dict(properties)), **_SETTINGS})


def _is_taken(producer: Producer, topic: str, content: dict[str, Any], delivered: Any) -> bool:
    """Whether the producer's queue had room."""
    try:
        producer.produce(topic, **content, on_delivery=delivered)
    except BufferError:
        return False
    return True


def _headers(letter: DeadLetter, table: str) -> list[tuple[str, bytes | None]]:
    """The message's own headers, followed by those that say where it comes from."""
    texts = {
        DeadLetterHeader.TOPIC: letter.topic,
        DeadLetterHeader.PARTITION: letter.partition,
        DeadLetterHeader.OFFSET: letter.offset,
        DeadLetterHeader.TIMESTAMP: letter.timestamp,
        DeadLetterHeader.TABLE: table,
        DeadLetterHeader.ERROR: _shorten(letter.error),
    }
    return [*letter.headers, *((header.value, str(text).encode()) for header, text in texts.items())]


def _shorten(text: str) -> str:
    encoded = text.encode()
    if len(encoded) <= LONGEST_ERROR_BYTES:
        return text
    return encoded[:LONGEST_ERROR_BYTES].decode(errors="ignore") + "…"
