"""Creates topics, and fills them with datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import polars as pl
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from millstream.connectors.kafka.client_settings import client_settings
from millstream.runtime.kafka.admin import KafkaAdmin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.harness.dataset import Dataset, Messages

_SECONDS_TO_FLUSH: Final = 120
_SECONDS_TO_DELETE: Final = 30


def create_topic(brokers: str, topic: str) -> None:
    """The broker notes when each message arrives, so that nobody needs to read along."""
    admin = KafkaAdmin({"bootstrap.servers": brokers})
    admin.ensure_topic(topic, topic, {"message.timestamp.type": "LogAppendTime"})
    admin.latest([topic])  # waits until each partition has a leader


def delete_topic(brokers: str, topic: str) -> None:
    client = AdminClient(client_settings({"bootstrap.servers": brokers}))
    client.delete_topics([topic])[topic].result(_SECONDS_TO_DELETE)


def fill_topic(brokers: str, topic: str, dataset: Dataset, rows: int) -> pl.DataFrame:
    """Returns all rows, unless the dataset keeps none."""
    for end in dataset.topics:
        create_topic(brokers, topic + end)
    settings = {"linger.ms": 50, "batch.size": 1 << 20, "queue.buffering.max.messages": 1_000_000}
    producer = Producer({**client_settings({"bootstrap.servers": brokers}), **settings})
    sent: list[pl.DataFrame] = []
    for messages in dataset.generate(rows):
        _send(producer, topic + messages.topic, messages)
        if producer.flush(_SECONDS_TO_FLUSH):
            raise RuntimeError(f"the broker did not take the messages of {topic} in {_SECONDS_TO_FLUSH} s")
        sent.append(messages.rows)
    return pl.concat(sent, how="diagonal")


def _send(producer: Producer, topic: str, messages: Messages) -> None:
    parts: dict[int, list[dict[str, Any]]] = {}
    keys: Iterable[bytes | None] = messages.keys or [None] * len(messages.values)
    for key, value, partition in zip(keys, messages.values, messages.partitions, strict=True):
        parts.setdefault(partition, []).append({"key": key, "value": value})
    for partition, part in parts.items():
        producer.produce_batch(topic, part, partition=partition)
