"""Ranges of offsets, read from a real broker as columns."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from millstream.librdkafka import partition_consumer as consumer
from millstream.librdkafka.partition_consumer import OffsetNotThereError, Range
from millstream.reading.message_reader import read_messages
from millstream.reading.read_request import ReadRequest
from millstream.reading.reading_error import KafkaAwayError, LostMessagesError
from millstream.reading.topic_offsets import TopicOffsets
from millstream.runtime.kafka.admin import KafkaAdmin
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Iterable

ALL = (consumer.OFFSET, consumer.KEY, consumer.VALUE)


class Topic:
    """With two partitions, of which messages go to the first."""

    def __init__(self, brokers: str) -> None:
        self.name = fresh_name("read")
        self.properties = {"bootstrap.servers": brokers}
        KafkaAdmin(self.properties).ensure_topic(self.name, self.name)

    def send(
        self, messages: Iterable[tuple[bytes | None, bytes | None]], *, partition: int = 0, codec: str = "none"
    ) -> None:
        producer = Producer({**self.properties, "linger.ms": 20, "enable.idempotence": True, "compression.type": codec})
        for key, value in messages:
            while not _is_taken(producer, self.name, key, value, partition):
                producer.poll(0.1)
        assert producer.flush(30) == 0

    def send_in_transaction(self, values: Iterable[bytes], *, commits: bool) -> None:
        producer = Producer({**self.properties, "transactional.id": fresh_name("read")})
        producer.init_transactions()
        producer.begin_transaction()
        for value in values:
            producer.produce(self.name, value, partition=0)
        producer.flush()
        producer.commit_transaction() if commits else producer.abort_transaction()

    def request(self, columns: tuple[str, ...] = ALL, **others: Any) -> ReadRequest:
        wanted = {
            "may_lose": False,
            "reads_committed": False,
            "keeps_apart": False,
            "most": 1000,
            "folder": Path(),
            "scan": "scan-1",
            "starts": None,
            "ends": None,
            **others,
        }
        return ReadRequest(topics=(self.name,), pattern=None, properties=self.properties, columns=columns, **wanted)

    def read(self, start: int, end: int, request: ReadRequest | None = None) -> pa.Table:
        batches = list(read_messages(request or self.request(), [Range(self.name, 0, start, end)]))
        return pa.Table.from_batches(batches) if batches else pa.table({name: [] for name in ALL})

    def delete_before(self, offset: int) -> None:
        client = AdminClient(dict(self.properties))
        [deleted] = client.delete_records([TopicPartition(self.name, 0, offset)]).values()
        deleted.result(30)


def _is_taken(producer: Producer, topic: str, key: bytes | None, value: bytes | None, partition: int) -> bool:
    try:
        producer.produce(topic, value, key, partition=partition)
    except BufferError:
        return False
    return True


@pytest.fixture
def topic(broker: str) -> Topic:
    return Topic(broker)


def test_every_message_of_a_range_is_read_once_and_in_order(topic: Topic) -> None:
    """More messages than a batch holds, keys and values of all lengths around 12 bytes, empty ones and none."""
    choices = random.Random(7)

    def half() -> bytes | None:
        length = choices.choice([0, 1, 4, 11, 12, 13, 40])
        return None if choices.random() < 0.1 else choices.randbytes(length)

    sent = [(half(), half()) for _ in range(150_000)]
    topic.send(sent)

    for start, end in ((0, 150_000), (70_001, 70_002), (149_999, 150_000), (30, 120_031)):
        read = topic.read(start, end)
        assert read.column(consumer.OFFSET).to_pylist() == list(range(start, end))
        found = zip(read.column(consumer.KEY).to_pylist(), read.column(consumer.VALUE).to_pylist(), strict=True)
        assert list(found) == sent[start:end]


def test_ranges_of_several_partitions_are_read_together(topic: Topic) -> None:
    """Small ones in one batch, a large one in batches of its own; a range may have no messages left."""
    topic.send((None, b"0-%d" % n) for n in range(90_000))
    topic.send(((None, b"1-%d" % n) for n in range(100)), partition=1)
    columns = (consumer.PARTITION, consumer.OFFSET, consumer.VALUE)

    def read(*ranges: Range) -> list[list[tuple[Any, ...]]]:
        found = read_messages(topic.request(columns), ranges)
        return [[tuple(row.values()) for row in batch.to_pylist()] for batch in found]

    few = read(Range(topic.name, 0, 10, 13), Range(topic.name, 1, 5, 7))
    many = read(Range(topic.name, 1, 0, 100), Range(topic.name, 0, 0, 90_000))

    assert few == [[(0, 10, b"0-10"), (0, 11, b"0-11"), (0, 12, b"0-12"), (1, 5, b"1-5"), (1, 6, b"1-6")]]
    assert [row for rows in many for row in rows] == [
        *((1, n, b"1-%d" % n) for n in range(100)),
        *((0, n, b"0-%d" % n) for n in range(90_000)),
    ]
    assert len(many) > 1


def test_large_and_small_messages_are_read_in_turns(topic: Topic) -> None:
    sent = [(None, bytes([n % 251]) * (900_000 if n % 10 == 0 else 10)) for n in range(200)]
    topic.send(sent)

    read = topic.read(0, 200)

    assert read.column(consumer.VALUE).to_pylist() == [value for _, value in sent]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_messages_are_read(topic: Topic, codec: str) -> None:
    sent = [(b"%d" % n, b"value %d" % n) for n in range(20_000)]
    topic.send(sent, codec=codec)

    assert topic.read(100, 20_000).column(consumer.VALUE).to_pylist() == [value for _, value in sent[100:]]


def test_metadata_is_read_where_it_is_asked_for(topic: Topic) -> None:
    headers: list[tuple[str, str | bytes | None]] = [("a", b"1"), ("b", None), ("a", b"")]
    producer = Producer(topic.properties)
    producer.produce(topic.name, b"x", partition=0, timestamp=1_700_000_000_123, headers=headers)
    producer.produce(topic.name, b"y", partition=0, timestamp=1_700_000_000_456)
    producer.flush()
    columns = (
        consumer.TOPIC,
        consumer.PARTITION,
        consumer.TIMESTAMP,
        consumer.TIMESTAMP_TYPE,
        consumer.LEADER_EPOCH,
        consumer.HEADERS,
    )

    [first, second] = topic.read(0, 2, topic.request(columns)).to_pylist()

    assert (first["topic"], first["partition"]) == (topic.name, 0)
    assert (first["timestamp"], second["timestamp"]) == (1_700_000_000_123, 1_700_000_000_456)
    assert (first["timestamp_type"], first["leader_epoch"]) == (1, 0)
    assert [(header["key"], header["value"]) for header in first["headers"]] == headers
    assert second["headers"] == []


def test_offsets_without_a_message_are_passed_over(topic: Topic) -> None:
    """The marker behind a transaction has an offset, and may be the last of a range."""
    topic.send_in_transaction([b"a", b"b"], commits=True)
    topic.send_in_transaction([b"c"], commits=False)

    everything = topic.read(0, 5)
    only_committed = {**topic.properties, "isolation.level": "read_committed"}
    committed = replace(topic.request(reads_committed=True), properties=only_committed)

    assert everything.column(consumer.OFFSET).to_pylist() == [0, 1, 3]
    assert topic.read(0, 5, committed).column(consumer.OFFSET).to_pylist() == [0, 1]
    assert topic.read(2, 3).num_rows == 0


def test_deleted_messages_are_missed_unless_they_may_be(topic: Topic) -> None:
    topic.send((None, b"%d" % n) for n in range(100))
    topic.delete_before(60)

    with pytest.raises(LostMessagesError, match=rf"\[50, 80\) for topic partition {topic.name}-0"):
        topic.read(50, 80)
    lenient = topic.request(may_lose=True)
    assert topic.read(50, 80, lenient).column(consumer.OFFSET).to_pylist() == list(range(60, 80))
    assert topic.read(10, 40, lenient).num_rows == 0
    assert topic.read(60, 80).num_rows == 20


def test_a_topic_that_ends_too_early_is_not_the_one_that_was_planned(topic: Topic) -> None:
    topic.send((None, b"%d" % n) for n in range(10))

    with pytest.raises(LostMessagesError):
        topic.read(5, 20)
    with pytest.raises(LostMessagesError):
        topic.read(15, 20)
    assert topic.read(5, 20, topic.request(may_lose=True)).num_rows == 5


def test_a_broker_that_is_not_there_is_noticed(monkeypatch: pytest.MonkeyPatch, topic: Topic) -> None:
    monkeypatch.setattr("millstream.reading.message_reader._PATIENCE_SECONDS", 2.0)
    topic.properties = {"bootstrap.servers": "127.0.0.1:1", "client.id": fresh_name("read")}

    with pytest.raises(KafkaAwayError):
        topic.read(0, 1)


def test_offsets_are_asked_for_by_name_and_by_pattern(topic: Topic) -> None:
    topic.send((None, b"%d" % n) for n in range(10))
    topic.delete_before(3)
    by_pattern = replace(topic.request(), topics=(), pattern=f"{topic.name[:-1]}.")

    for request in (topic.request(), by_pattern):
        offsets = TopicOffsets(request)
        assert offsets.earliest() == {(topic.name, 0): 3, (topic.name, 1): 0}
        assert offsets.latest() == {(topic.name, 0): 10, (topic.name, 1): 0}


def test_a_pattern_does_not_mean_kafkas_own_topics(topic: Topic) -> None:
    topic.send_in_transaction([b"a"], commits=True)

    found = TopicOffsets(replace(topic.request(), topics=(), pattern=".*")).latest()

    assert found[topic.name, 0] == 2
    assert not [name for name, _ in found if name.startswith("__")]


def test_open_transactions_are_not_read_where_only_committed_ones_are(topic: Topic) -> None:
    topic.send([(None, b"a")])
    producer = Producer({**topic.properties, "transactional.id": fresh_name("read")})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic.name, b"b", partition=0)
    producer.flush()
    try:
        assert TopicOffsets(topic.request(reads_committed=True)).latest()[topic.name, 0] == 1
        assert TopicOffsets(topic.request()).latest()[topic.name, 0] == 2
    finally:
        producer.abort_transaction()


def test_an_offset_that_is_not_there_says_which() -> None:
    assert str(OffsetNotThereError("t", 3, 42)) == "t-3 has no offset 42"
