"""Checks whether an output topic has the correct result, in the same way for every engine, from outside."""

from __future__ import annotations

import io
import json
import time
from typing import Final, Protocol

from confluent_kafka import Consumer, TopicPartition
from pyarrow import json as arrow_json

from benchmarks.harness.page_view_topic import Truth
from benchmarks.harness.page_views import COLUMNS
from millstream.connectors.kafka.client_settings import client_settings
from millstream.formats.arrow_types import arrow_schema
from millstream.runtime.kafka.admin import KafkaAdmin

LOOK_SECONDS: Final = 0.1
_MESSAGES: Final = 50_000


class Outcome(Protocol):
    def is_reached(self) -> bool:
        """Waits a moment for more output, then returns whether it is complete."""

    def difference(self) -> str | None:
        """Called when the engine has stopped: what is wrong with its output."""


class LastValues:
    """The last numbers of each region in an upsert topic."""

    def __init__(self, brokers: str, topic: str, expected: dict[str, list[int]]) -> None:
        self._topic = _OutputTopic(brokers, topic)
        self._expected = expected
        self._found: dict[str, list[int]] = {}

    def is_reached(self) -> bool:
        for value in self._topic.more():
            region, *numbers = json.loads(value).values()
            self._found[region] = numbers
        return self._found == self._expected

    def difference(self) -> str | None:
        while not self._topic.is_at_end():
            self.is_reached()
        return None if self._found == self._expected else f"it wrote {self._found}, the truth is {self._expected}"


class AllRows:
    """Each page view once, in any order."""

    def __init__(self, brokers: str, topic: str, truth: Truth) -> None:
        self._topic = _OutputTopic(brokers, topic)
        self._expected = truth

    def is_reached(self) -> bool:
        time.sleep(LOOK_SECONDS)
        return self._topic.count_messages() >= self._expected.rows

    def difference(self) -> str | None:
        found = Truth()
        options = arrow_json.ParseOptions(explicit_schema=arrow_schema(COLUMNS))
        while not self._topic.is_at_end():
            if values := self._topic.more():
                found.add(arrow_json.read_json(io.BytesIO(b"\n".join(values)), parse_options=options))
        return None if found.equals(self._expected) else f"it wrote {found}, the truth is {self._expected}"


class _OutputTopic:
    """Read to its end including uncommitted messages: an engine may be checked before it commits."""

    def __init__(self, brokers: str, topic: str) -> None:
        self._name = topic
        self._admin = KafkaAdmin({"bootstrap.servers": brokers})
        self._admin.ensure_topic(topic, topic)
        settings = {"group.id": "outcome", "enable.auto.commit": False, "isolation.level": "read_uncommitted"}
        self._consumer = Consumer({**client_settings({"bootstrap.servers": brokers}), **settings})
        self._consumer.assign([TopicPartition(topic, entry.partition, 0) for entry in self._admin.latest([topic])])

    def more(self) -> list[bytes]:
        messages = self._consumer.consume(_MESSAGES, LOOK_SECONDS)
        return [value for message in messages if (value := message.value()) is not None]

    def count_messages(self) -> int:
        return sum(self._admin.latest([self._name]).values())

    def is_at_end(self) -> bool:
        ends = self._admin.latest([self._name])
        reached = {TopicPartition(at.topic, at.partition): at.offset for at in self._consumer.position(list(ends))}
        return all(reached[partition] >= end for partition, end in ends.items() if end)
