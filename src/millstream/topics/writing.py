"""Writes lines of text into a topic, each as a message."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException, Producer

from millstream.connectors.kafka.client_settings import client_settings
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.runtime.kafka.client_errors import Question, broker_error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confluent_kafka import KafkaError, Message

    from millstream.topics.cluster import Cluster

_FLUSH_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class MessageLines:
    """`key_fields`: fields of an object in JSON; one makes a key of its text, several one in JSON."""

    lines: Iterable[bytes]
    key_fields: tuple[str, ...] = ()

    def messages(self) -> Iterable[tuple[bytes | None, bytes]]:
        """Key and value. Empty lines are left out."""
        for number, written in enumerate(self.lines, 1):
            line = written.rstrip(b"\r\n")
            if line:
                yield self._key(line, number), line

    def _key(self, line: bytes, number: int) -> bytes | None:
        if not self.key_fields:
            return None
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        missing = [name for name in self.key_fields if not isinstance(row, dict) or name not in row]
        if missing:
            raise ScriptError(
                Diagnostic(
                    Code.BAD_ARGUMENT,
                    f'line {number} is no JSON object with a field "{missing[0]}"',
                    detail="The lines before it may have been written.",
                    hint="Correct the line, or --key.",
                )
            )
        return _encode_key({name: row[name] for name in self.key_fields})


def _encode_key(fields: dict[str, Any]) -> bytes:
    only = next(iter(fields.values()))
    if len(fields) == 1 and isinstance(only, str):
        return only.encode()
    return json.dumps(only if len(fields) == 1 else fields, ensure_ascii=False, separators=(",", ":")).encode()


def write_messages(cluster: Cluster, topic: str, lines: MessageLines) -> int:
    """Returns how many; all of them are written when it returns. Partitions are those that Java's clients choose."""
    cluster.require(topic)
    question = Question(f'topic "{topic}" cannot be written', Code.BROKER_REFUSED, cluster.properties)
    failures: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({**client_settings(cluster.properties), "partitioner": "murmur2_random", "linger.ms": 5})
    count = 0
    try:
        for key, value in lines.messages():
            _send(producer, topic, key, value, on_delivery)
            count += 1
            if failures:
                break
    finally:
        unsent = producer.flush(_FLUSH_SECONDS)
    if failures:
        raise broker_error(KafkaException(failures[0]), question)
    if unsent:
        raise broker_error(TimeoutError(f"{unsent} messages were not accepted in time"), question)
    return count


def _send(producer: Producer, topic: str, key: bytes | None, value: bytes, on_delivery: Any) -> None:
    while True:
        try:
            producer.produce(topic, value, key, on_delivery=on_delivery)
        except BufferError:
            producer.poll(_POLL_SECONDS)
        else:
            producer.poll(0)
            return
