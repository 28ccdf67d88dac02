"""Topics of a test, filled with JSON and read back as a table."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from millstream.connectors.kafka.client_settings import client_settings
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterable


def fresh_name(stem: str) -> str:
    return f"{stem}-{uuid.uuid4().hex[:8]}"


def as_json(value: object) -> bytes:
    """As the json format writes it."""
    return json.dumps(value, separators=(",", ":")).encode()


def produce(brokers: str, topic: str, rows: Iterable[dict[str, Any]]) -> None:
    """Every row has its own key, so that rows are spread over the partitions."""
    messages = (Message(str(number).encode(), json.dumps(row).encode()) for number, row in enumerate(rows))
    ScriptKafka(brokers).produce(topic, messages, partition=None)


def delete_before(brokers: str, topic: str, offset: int, partition: int = 0) -> None:
    """Deletes messages, like retention."""
    client = AdminClient(client_settings({"bootstrap.servers": brokers}))
    for deleted in client.delete_records([TopicPartition(topic, partition, offset)]).values():
        deleted.result(PATIENCE)


def delete_topic(brokers: str, topic: str) -> None:
    client = AdminClient(client_settings({"bootstrap.servers": brokers}))
    client.delete_topics([topic])[topic].result(PATIENCE)
    admin = KafkaAdmin({"bootstrap.servers": brokers})
    while admin.partitions(topic) is not None:
        pass


def recreate_topic(brokers: str, topic: str) -> None:
    """Creates the topic again, without its messages."""
    delete_topic(brokers, topic)
    KafkaAdmin({"bootstrap.servers": brokers}).ensure_topic(topic, topic)


def read_table(brokers: str, topic: str) -> dict[str, dict[str, Any]]:
    """The table in an upsert topic with JSON keys and values."""
    rows: dict[str, dict[str, Any]] = {}
    for received in ScriptKafka(brokers).read(topic):
        key, value = received.message.key, received.message.value
        assert key is not None
        if value is None:
            del rows[key.decode()]
        else:
            rows[key.decode()] = json.loads(value)
    return rows
