"""Offsets of groups that stand for something else than a reader's position: a claim, or progress."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer, TopicPartition

from millstream.connectors.kafka_client import client_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TIMEOUT_SECONDS: Final = 30.0


def entry(topic: str, number: int, word: str) -> list[TopicPartition]:
    return [TopicPartition(topic, 0, number, word)]


class Group:
    """A group without members, which keeps one number and a word beside it."""

    def __init__(self, consumer: Consumer, topic: str) -> None:
        self._consumer = consumer
        self._topic = topic

    def read(self) -> tuple[int, str] | None:
        """Waits while a transaction that changes it is open: right after a commit its markers are still on their way.

        Kafka calls that "require stable"; it holds for partitions that are asked for by name, not for whole groups.
        """
        [found] = self._consumer.committed([TopicPartition(self._topic, 0)], _TIMEOUT_SECONDS)
        return (found.offset, found.metadata or "") if found.offset >= 0 else None

    def write(self, number: int, word: str) -> None:
        """Outside of any transaction."""
        self._consumer.commit(offsets=entry(self._topic, number, word), asynchronous=False)

    @property
    def metadata(self) -> Any:
        """What a transaction names the group by."""
        return self._consumer.consumer_group_metadata()


@contextmanager
def group(properties: Mapping[str, str], name: str, topic: str) -> Iterator[Group]:
    consumer = Consumer(
        {
            **client_settings(properties),
            "group.id": name,
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    try:
        yield Group(consumer, topic)
    finally:
        consumer.close()
