"""Columns of messages on a real broker: contents, partitions and order, beyond what the producer's queue holds."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from millstream.connectors.kafka.client_settings import client_settings
from millstream.connectors.kafka.producer_settings import producer_settings
from millstream.librdkafka.batch_producer import BatchProducer
from millstream.librdkafka.library import ClientError
from millstream.testing.script_kafka import ScriptKafka
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confluent_kafka import Message

PARTITIONS: Final = 3
ROWS: Final = 60_000
SMALL_QUEUE: Final = {"queue.buffering.max.messages": "1000", "queue.buffering.max.kbytes": "100"}
SLOW: Final = {**SMALL_QUEUE, "batch.num.messages": "100"}


@pytest.fixture
def topic(broker: str) -> str:
    name = fresh_name("columns")
    ScriptKafka(broker).create_topic(name, PARTITIONS)
    return name


def open_producer(brokers: str, **properties: str) -> BatchProducer:
    written = {name.replace("_", "."): value for name, value in properties.items()}
    return BatchProducer(producer_settings({"bootstrap.servers": brokers, **written}))


def read(brokers: str, topic: str, count: int) -> Iterator[Message]:
    consumer = Consumer({**client_settings({"bootstrap.servers": brokers}), "group.id": "columns"})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    left = count
    while left:
        found = consumer.consume(left, PATIENCE)
        assert found, f"{left} messages are missing"
        left -= len(found)
        yield from found
    assert consumer.consume(1, 0.5) == []
    consumer.close()


def draw(random_: random.Random, *, of: float) -> list[bytes | None]:
    """Of some size or empty; a part of them NULL."""
    sizes = (random_.choice((0, 1, 12, 13, 90, 400)) for _ in range(ROWS))
    return [random_.randbytes(size) if random_.random() < of else None for size in sizes]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("settings", [{}, SLOW], ids=["queue of its own", "small queue"])
def test_messages_arrive_as_they_are(broker: str, topic: str, seed: int, settings: dict[str, str]) -> None:
    """Those of a partition in their order, however often the queue was full."""
    random_ = random.Random(seed)
    keys, values = draw(random_, of=0.9), draw(random_, of=0.95)
    partitions = np.array([random_.randrange(PARTITIONS) for _ in range(ROWS)], np.int32)
    key_column, value_column = pa.array(keys, pa.binary()), pa.array(values, pa.binary())
    producer = BatchProducer({**producer_settings({"bootstrap.servers": broker}), **settings})
    start = 0
    while start < ROWS:
        size = random_.choice((1, 7, 20_000, 40_000))
        some = slice(start, start + size)
        producer.send(topic, key_column[some], value_column[some], partitions[some])
        start += size
    producer.flush(PATIENCE)
    producer.close()
    found: dict[int, list[tuple[bytes | None, bytes | None]]] = {number: [] for number in range(PARTITIONS)}
    for message in read(broker, topic, ROWS):
        found[message.partition() or 0].append((message.key(), message.value()))
    for number in range(PARTITIONS):
        expected = [(keys[at], values[at]) for at in np.flatnonzero(partitions == number)]
        assert found[number] == expected


def test_key_goes_to_one_partition_in_order(broker: str, topic: str) -> None:
    numbers = range(ROWS)
    keys = pa.array([b"%d" % (number % 50) for number in numbers], pa.binary())
    producer = BatchProducer({**producer_settings({"bootstrap.servers": broker}), **SLOW})
    producer.send(topic, keys, pa.array([b"%d" % number for number in numbers], pa.binary()))
    producer.flush(PATIENCE)
    places: dict[bytes | None, set[int]] = {}
    last: dict[bytes | None, int] = {}
    for message in read(broker, topic, ROWS):
        key, number = message.key(), int(message.value() or b"")
        places.setdefault(key, set()).add(message.partition() or 0)
        assert number > last.get(key, -1)
        last[key] = number
    assert all(len(partitions) == 1 for partitions in places.values())
    assert len({tuple(partitions) for partitions in places.values()}) > 1
    producer.close()


def test_no_key_and_no_partition(broker: str, topic: str) -> None:
    producer = open_producer(broker)
    producer.send(topic, None, pa.array([b"a", None, b""], pa.binary()))
    producer.send(topic, None, pa.array([], pa.binary()))
    producer.flush(PATIENCE)
    found = sorted((message.value() is None, message.value() or b"") for message in read(broker, topic, 3))
    assert found == [(False, b""), (False, b"a"), (True, b"")]
    producer.close()


def test_message_that_is_too_large_is_refused_with_its_size(broker: str, topic: str) -> None:
    producer = open_producer(broker, max_request_size="5000")
    values = pa.array([b"x", b"x" * 6000, b"x"], pa.binary())
    with pytest.raises(ClientError, match=rf"topic {topic}: key and value of a message have 6001 bytes") as caught:
        producer.send(topic, pa.array([b"k"] * 3, pa.binary()), values)
    assert caught.value.code == KafkaError.MSG_SIZE_TOO_LARGE
    producer.close()


def test_message_that_the_broker_refuses(broker: str, topic: str) -> None:
    producer = open_producer(broker, max_request_size="9000000")
    producer.send(topic, None, pa.array([b"x" * 8_000_000], pa.binary()))
    with pytest.raises(ClientError, match=f"topic {topic}: Broker: Message size too large") as caught:
        producer.flush(PATIENCE)
    assert caught.value.code == KafkaError.MSG_SIZE_TOO_LARGE
    producer.close()


def test_partition_that_does_not_exist(broker: str, topic: str) -> None:
    producer = open_producer(broker)
    with pytest.raises(ClientError) as caught:  # noqa: PT012 - at once if the topic is known already
        producer.send(topic, None, pa.array([b"x"], pa.binary()), np.array([PARTITIONS], np.int32))
        producer.flush(PATIENCE)
    assert caught.value.code == KafkaError._UNKNOWN_PARTITION
    producer.close()


def test_topic_that_cannot_exist(broker: str) -> None:
    producer = open_producer(broker)
    producer.send("no such topic", None, pa.array([b"x"], pa.binary()))
    with pytest.raises(ClientError, match="topic no such topic: "):
        producer.flush(PATIENCE)
    producer.close()


def test_broker_that_is_away() -> None:
    """Also with a full queue, which nobody empties."""
    for rows in (1, 5000):
        settings = producer_settings({"bootstrap.servers": "localhost:1", "delivery.timeout.ms": "300"})
        producer = BatchProducer({**settings, **SMALL_QUEUE})
        with pytest.raises(ClientError, match="localhost:1") as caught:  # noqa: PT012
            producer.send("orders", None, pa.array([b"x"] * rows, pa.binary()))
            producer.flush(PATIENCE)
        assert caught.value.code == KafkaError._MSG_TIMED_OUT
        producer.close()


def test_settings_that_the_client_refuses(broker: str) -> None:
    with pytest.raises(ValueError, match="acks"):
        open_producer(broker, acks="1", enable_idempotence="true")
