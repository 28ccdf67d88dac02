"""Reads messages of a topic in order: the newest ones, those from a place on, or all that will ever come."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from millstream.connectors.kafka.client_settings import client_settings
from millstream.errors import Code
from millstream.runtime.kafka.client_errors import Question, broker_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from confluent_kafka import Message

    from millstream.topics.cluster import Cluster

T = TypeVar("T")

_AT_ONCE: Final = 500
_LOOK_SECONDS: Final = 0.2
_SILENCE_SECONDS: Final = 20.0
_GROUP: Final = "millstream-peek"
"""Nothing is committed to it: partitions are assigned by us."""
_WIDER: Final = 8
"""By how much further back we look where transactions or compaction have left few messages."""


@dataclass(frozen=True, slots=True)
class TopicMessage:
    partition: int
    offset: int
    timestamp: int | None
    """Milliseconds since the epoch."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def place(self) -> tuple[int, int, int]:
        """By which messages of several partitions are put in order."""
        return self.timestamp or 0, self.partition, self.offset


def read_newest(
    cluster: Cluster, topic: str, ends: Mapping[int, int], count: int, keep: Callable[[list[TopicMessage]], list[T]]
) -> list[T]:
    """At most `count` that `keep` leaves of the messages before the ends, the oldest first."""
    first = by_number(cluster.admin.earliest([topic]))
    width = count
    while True:
        starts = {number: max(first[number], end - width) for number, end in ends.items()}
        found = keep(sorted(read_range(cluster, topic, starts, ends), key=lambda message: message.place))
        if len(found) >= count or all(starts[number] == first[number] for number in starts):
            return found[-count:]
        width *= _WIDER


def read_range(
    cluster: Cluster, topic: str, starts: Mapping[int, int], ends: Mapping[int, int]
) -> Iterator[TopicMessage]:
    """Those of finished transactions, by partition as they arrive."""
    waiting = {number for number, end in ends.items() if starts[number] < end}
    if not waiting:
        return
    with _consumer(cluster, topic, {number: starts[number] for number in waiting}) as consumer:
        silent = 0.0
        while waiting:
            messages = consumer.consume(_AT_ONCE, _LOOK_SECONDS)
            silent = 0.0 if messages else silent + _LOOK_SECONDS
            if silent > _SILENCE_SECONDS:
                raise TimeoutError(f"no messages within {_SILENCE_SECONDS:.0f} s")
            for message in messages:
                number, offset = _place_of(message)
                is_end = _is_end(message)
                if is_end or offset >= ends[number] - 1:
                    waiting.discard(number)
                if not is_end and offset < ends[number]:
                    yield _message(message)


def follow(cluster: Cluster, topic: str, starts: Mapping[int, int]) -> Iterator[list[TopicMessage]]:
    """What is and what will be in the topic, without end, as it arrives."""
    with _consumer(cluster, topic, starts) as consumer:
        while True:
            yield [_message(each) for each in consumer.consume(_AT_ONCE, _LOOK_SECONDS) if not _is_end(each)]


@contextmanager
def _consumer(cluster: Cluster, topic: str, starts: Mapping[int, int]) -> Iterator[Consumer]:
    settings: dict[str, Any] = {
        **client_settings(cluster.properties),
        "group.id": _GROUP,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 50,
    }
    try:
        consumer = Consumer(settings)
        try:
            consumer.assign([TopicPartition(topic, number, offset) for number, offset in starts.items()])
            yield consumer
        finally:
            consumer.close()
    except (KafkaException, TimeoutError) as error:
        question = Question(f'topic "{topic}" cannot be read', Code.OFFSETS_UNAVAILABLE, cluster.properties)
        raise broker_error(error, question) from error


def by_number(offsets: Mapping[TopicPartition, int]) -> dict[int, int]:
    return {partition.partition: offset for partition, offset in offsets.items()}


def _is_end(message: Message) -> bool:
    """Whether this is no message but the news that its partition has no more."""
    error = message.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
        raise KafkaException(error)
    return error is not None


def _place_of(message: Message) -> tuple[int, int]:
    number, offset = message.partition(), message.offset()
    assert number is not None
    assert offset is not None
    return number, offset


def _message(message: Message) -> TopicMessage:
    kind, timestamp = message.timestamp()
    headers: Any = message.headers()
    return TopicMessage(
        *_place_of(message),
        timestamp if kind else None,
        _bytes(message.key()),
        _bytes(message.value()),
        tuple(headers or ()),
    )


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
