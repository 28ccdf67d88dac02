"""A job that copies one topic to another, with the options of a test."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import Producer

from millstream import Session
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from millstream.runtime.job import Job

SCRIPT = """
CREATE TABLE orders (id INT{columns}) WITH (
  'connector' = 'kafka', {topic}, 'properties.bootstrap.servers' = '${{brokers}}', 'format' = 'json'{options});
CREATE TABLE copies (id INT{copied}) WITH (
  'connector' = 'kafka', 'topic' = '${{copies}}', 'properties.bootstrap.servers' = '${{brokers}}', 'format' = 'json');
INSERT INTO copies SELECT * FROM orders;
"""


class Shop:
    def __init__(self, brokers: str, spark: SparkSession, folder: Path, partitions: int = 1) -> None:
        self.brokers = brokers
        self.kafka = ScriptKafka(brokers)
        self.admin = KafkaAdmin({"bootstrap.servers": brokers})
        self.orders, self.copies = fresh_name("orders"), fresh_name("copies")
        self.kafka.create_topic(self.orders, partitions)
        self.kafka.create_topic(self.copies, 1)
        self._new_session = partial(Session, spark, checkpoint=folder)
        self.session = self._new_session()

    def again(self) -> Self:
        """As if the process were restarted."""
        self.session.stop()
        self.session = self._new_session()
        return self

    def start(
        self,
        options: str = "",
        columns: str = "",
        copied: str = "",
        topic: str = "'topic' = '${orders}'",
        *,
        drain: bool = False,
    ) -> Job:
        names = {"brokers": self.brokers, "orders": self.orders, "copies": self.copies}
        script = SCRIPT.format(options=options, columns=columns, copied=copied, topic=topic)
        [job] = self.session.execute_sql(script, parameters=names, drain=drain)
        return job

    def produce(self, values: Iterable[str], partition: int = 0, topic: str | None = None) -> None:
        self.kafka.produce(topic or self.orders, (Message(None, value.encode()) for value in values), partition)

    def produce_one(self, value: bytes, topic: str | None = None, **more: Any) -> None:
        """With what only Kafka's client can set: a timestamp, headers, a key."""
        producer = Producer({"bootstrap.servers": self.brokers})
        producer.produce(topic or self.orders, value, **more)
        assert producer.flush(30) == 0

    def read_copies(self) -> list[dict[str, Any]]:
        return [json.loads(found.message.value or b"null") for found in self.kafka.read(self.copies)]

    def read_copied_ids(self) -> list[int]:
        return [row["id"] for row in self.read_copies()]
