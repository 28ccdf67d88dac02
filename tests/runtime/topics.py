"""Topics of a test: made, filled and read with an ordinary Kafka client."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from millstream.runtime.kafka_admin import KafkaAdmin, client_settings

if TYPE_CHECKING:
    from collections.abc import Iterable


def fresh_name(stem: str) -> str:
    return f"{stem}-{uuid.uuid4().hex[:8]}"


def produce(brokers: str, topic: str, rows: Iterable[dict[str, Any]]) -> None:
    producer = Producer({**client_settings({"bootstrap.servers": brokers}), "linger.ms": 20})
    for number, row in enumerate(rows):
        producer.produce(topic, json.dumps(row).encode())
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0


def read_messages(brokers: str, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """All messages that are in the topic now, partition after partition."""
    admin = KafkaAdmin({"bootstrap.servers": brokers})
    ends = {p.partition: offset for p, offset in admin.latest([topic]).items() if offset > 0}
    consumer = Consumer({**client_settings({"bootstrap.servers": brokers}), "group.id": fresh_name("reader")})
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in ends])
    messages: list[tuple[bytes | None, bytes | None]] = []
    missing = sum(ends.values())
    while len(messages) < missing:
        message = consumer.poll(30)
        assert message is not None, f"only {len(messages)} of {missing} messages came"
        assert message.error() is None
        messages.append((message.key(), message.value()))
    consumer.close()
    return messages


def folded(brokers: str, topic: str) -> dict[str, dict[str, Any]]:
    """The table in an upsert topic with JSON keys and values."""
    rows: dict[str, dict[str, Any]] = {}
    for key, value in read_messages(brokers, topic):
        assert key is not None
        if value is None:
            del rows[key.decode()]
        else:
            rows[key.decode()] = json.loads(value)
    return rows
