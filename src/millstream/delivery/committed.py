"""Group offsets that represent something other than a reader's position: a claim, or progress."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from millstream.connectors.kafka.client_settings import client_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

T = TypeVar("T")

_TIMEOUT_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 3.0
_RETRY_SECONDS: Final = 0.1
_SOON_OVER: Final = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._WAIT_COORD,  # noqa: SLF001
)


def entry(topic: str, number: int, word: str) -> list[TopicPartition]:
    return [TopicPartition(topic, 0, number, word)]


class Group:
    """A group without members that stores a number, with a text as metadata."""

    def __init__(self, consumer: Consumer, topic: str) -> None:
        self._consumer = consumer
        self._topic = topic

    def read(self) -> tuple[int, str] | None:
        """Waits while a transaction that changes it is open: right after a commit, its markers are still being written.

        Kafka calls that "require stable"; it applies to partitions that are requested by name, not to whole groups.
        """
        [found] = _ask(self._consumer, [TopicPartition(self._topic, 0)])
        return (found.offset, found.metadata or "") if found.offset >= 0 else None

    def write(self, number: int, word: str) -> None:
        """Outside any transaction."""
        written = entry(self._topic, number, word)
        _retry(lambda: self._consumer.commit(offsets=written, asynchronous=False))

    @property
    def metadata(self) -> Any:
        """By which a transaction identifies the group."""
        return self._consumer.consumer_group_metadata()


def _retry(ask: Callable[[], T]) -> T:
    """Retries: a coordinator may be moving, and the first group of a cluster waits for a topic to be created."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        try:
            return ask()
        except KafkaException as error:
            if error.args[0].code() not in _SOON_OVER or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_SECONDS)


def offsets_of_group(properties: Mapping[str, str], name: str, topic: str) -> list[TopicPartition]:
    """For partition 0 of `topic` and of all other topics that the user may see."""
    with _consumer(properties, name, "read_uncommitted") as consumer:
        topics = _retry(lambda: consumer.list_topics(timeout=_TIMEOUT_SECONDS)).topics
        return _read_committed(consumer, [TopicPartition(each, 0) for each in sorted({topic, *topics})])


def fetch_committed_offsets(
    properties: Mapping[str, str], name: str, places: list[TopicPartition]
) -> list[TopicPartition]:
    """The offsets that the group has committed, without those of a pending transaction.

    Requested by a consumer: librdkafka's admin client may crash in this request while a group has no coordinator.
    """
    with _consumer(properties, name, "read_uncommitted") as consumer:
        return _read_committed(consumer, places)


def _read_committed(consumer: Consumer, places: list[TopicPartition]) -> list[TopicPartition]:
    found = _ask(consumer, places) if places else []
    return [entry for entry in found if entry.error is None and entry.offset >= 0]


def _ask(consumer: Consumer, places: list[TopicPartition]) -> list[TopicPartition]:
    def ask() -> list[TopicPartition]:
        try:
            return list(consumer.committed(places, _LOOK_SECONDS))
        except KafkaException as error:
            raise (_refusal(consumer) or error) from None

    return _retry(ask)


def _refusal(consumer: Consumer) -> KafkaException | None:
    """A user without access to the group waits for its coordinator in vain; only polling reveals the reason."""
    message = consumer.poll(0)
    error = None if message is None else message.error()
    return (
        KafkaException(error) if error is not None and error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED else None
    )


@contextmanager
def group(properties: Mapping[str, str], name: str, topic: str) -> Iterator[Group]:
    with _consumer(properties, name, "read_committed") as consumer:
        yield Group(consumer, topic)


@contextmanager
def _consumer(properties: Mapping[str, str], name: str, isolation: str) -> Iterator[Consumer]:
    settings = {"group.id": name, "enable.auto.commit": False, "isolation.level": isolation}
    consumer = Consumer({**client_settings(properties), **settings})
    try:
        yield consumer
    finally:
        consumer.close()
