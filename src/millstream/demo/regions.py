"""Reads the result topic like any Kafka consumer: the last message of a key is its row."""

from __future__ import annotations

import io
import threading
from typing import Any, Final, NamedTuple

import fastavro
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from millstream.connectors.kafka.client_settings import client_settings
from millstream.formats.avro_schema import avro_schema
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.sql.types import BIGINT, STRING

_KEY: Final = fastavro.parse_schema(avro_schema([("user_region", STRING.not_null())]))
_VALUE: Final = fastavro.parse_schema(avro_schema([("user_region", STRING.not_null()), ("pv", BIGINT), ("uv", BIGINT)]))


class Counts(NamedTuple):
    views: int
    users: int


class RegionTable(threading.Thread):
    """The table per region, folded from the topic while it grows."""

    def __init__(self, brokers: str, topic: str) -> None:
        super().__init__(name="regions", daemon=True)
        settings = {"bootstrap.servers": brokers}
        self._admin = KafkaAdmin(settings)
        self._topic = topic
        self._consumer = Consumer(
            {**client_settings(settings), "group.id": "millstream-demo", "enable.auto.commit": False}
        )
        self._closing = threading.Event()
        self._positions: dict[int, int] = {}
        self.rows: dict[str, Counts] = {}
        self.messages = 0

    def run(self) -> None:
        partitions = self._admin.partitions(self._topic) or [0]
        self._consumer.assign([TopicPartition(self._topic, number, OFFSET_BEGINNING) for number in partitions])
        while not self._closing.is_set():
            for message in self._consumer.consume(1000, timeout=0.1):
                if message.error() is None:
                    self._fold(message)
        self._consumer.close()

    def read_to_end(self, timeout: float = 30) -> None:
        """Returns when everything that is in the topic now has been read."""
        ends = {p.partition: offset for p, offset in self._admin.latest([self._topic]).items()}
        waited = 0.0
        while any(self._positions.get(number, 0) < end for number, end in ends.items()) and waited < timeout:
            self._closing.wait(0.05)
            waited += 0.05

    def close(self) -> None:
        self._closing.set()
        self.join(10)

    def _fold(self, message: Any) -> None:
        region = _decode(message.key(), _KEY)["user_region"]
        if message.value() is None:
            self.rows.pop(region, None)
        else:
            row = _decode(message.value(), _VALUE)
            self.rows[region] = Counts(row["pv"], row["uv"])
        self._positions[message.partition()] = message.offset() + 1
        self.messages += 1


def _decode(data: bytes, schema: Any) -> dict[str, Any]:
    record: Any = fastavro.schemaless_reader(io.BytesIO(data), schema, None)
    return dict(record)
