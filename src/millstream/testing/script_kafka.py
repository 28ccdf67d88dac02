"""Topics and messages for script tests."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import fastavro
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from millstream.connectors.kafka.client_settings import client_settings
from millstream.formats.avro_schema import avro_schema
from millstream.testing.script_messages import Message, Received

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confluent_kafka import Message as KafkaMessage

    from millstream.testing.script_steps import Columns

_TIMEOUT_SECONDS: Final = 30.0
_UNTIL_FLUSH_MS: Final = 60_000


class ScriptKafka:
    def __init__(self, bootstrap: str) -> None:
        self._client = client_settings({"bootstrap.servers": bootstrap})
        self._admin = AdminClient(self._client)

    def create_topic(self, name: str, partitions: int) -> None:
        topic = NewTopic(name, num_partitions=partitions, replication_factor=-1)
        self._admin.create_topics([topic])[name].result(_TIMEOUT_SECONDS)

    def produce(self, topic: str, messages: Iterable[Message], partition: int | None) -> None:
        """Sends all messages of one partition at once, so that no job sees a part of them."""
        failures: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, _message: KafkaMessage) -> None:
            if error is not None:
                failures.append(error)

        settings = {**self._client, "linger.ms": _UNTIL_FLUSH_MS, "partitioner": "murmur2"}
        producer = Producer(settings)
        for message in messages:
            chosen = 0 if partition is None and message.key is None else partition
            place: dict[str, Any] = {} if chosen is None else {"partition": chosen}
            producer.produce(topic, value=message.value, key=message.key, on_delivery=on_delivery, **place)
        unsent = producer.flush(_TIMEOUT_SECONDS)
        if failures or unsent:
            raise KafkaException(failures[0] if failures else KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001

    def read(self, topic: str) -> list[Received]:
        """All messages that readers of committed messages see now, by partition and offset."""
        partitions = sorted(self._admin.list_topics(topic, timeout=_TIMEOUT_SECONDS).topics[topic].partitions)
        consumer = Consumer(
            {
                **self._client,
                "group.id": "millstream-script-test",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 10,
            }
        )
        found: dict[int, list[Received]] = {partition: [] for partition in partitions}
        try:
            consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
            unfinished = set(partitions)
            while unfinished:
                message = consumer.poll(_TIMEOUT_SECONDS)
                if message is None:
                    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001
                partition, offset, error = message.partition(), message.offset(), message.error()
                assert partition is not None
                assert offset is not None
                if error is None:
                    content = Message(_as_bytes(message.key()), _as_bytes(message.value()))
                    found[partition].append(Received(content, partition, offset, _headers_of(message)))
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    unfinished.discard(partition)
                else:
                    raise KafkaException(error)
        finally:
            consumer.close()
        return [received for partition in partitions for received in found[partition]]


def show_avro(received: Received, key: Columns | None, value: Columns | None) -> Received:
    """The message with its Avro parts as JSON; ValueError if the bytes do not match these columns."""
    message = received.message
    return replace(received, message=Message(_as_json(message.key, key), _as_json(message.value, value)))


def _as_json(part: bytes | None, columns: Columns | None) -> bytes | None:
    if part is None or columns is None:
        return part
    stream = BytesIO(part)
    try:
        record = fastavro.schemaless_reader(stream, avro_schema(columns), None)
    except Exception as error:
        raise ValueError(f"{part.hex()} is not Avro of these columns: {error!r}") from error
    if stream.read():
        raise ValueError(f"{part.hex()} has more bytes than Avro of these columns")
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False, default=str).encode()


def _headers_of(message: KafkaMessage) -> tuple[tuple[str, bytes | None], ...]:
    headers: Any = message.headers() or ()  # a list of pairs, although its annotation allows more
    return tuple((name, _as_bytes(value)) for name, value in headers)


def _as_bytes(part: str | bytes | None) -> bytes | None:
    return part.encode() if isinstance(part, str) else part
