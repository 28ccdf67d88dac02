"""What only a real broker and a real Spark show of reading topics."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from millstream import Session
from millstream.runtime.kafka_admin import KafkaAdmin
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
  'connector' = 'kafka', 'topic' = '${{orders}}', 'properties.bootstrap.servers' = '${{brokers}}',
  'format' = 'json'{options});
CREATE TABLE copies (id INT{copied}) WITH (
  'connector' = 'kafka', 'topic' = '${{copies}}', 'properties.bootstrap.servers' = '${{brokers}}', 'format' = 'json');
INSERT INTO copies SELECT * FROM orders;
"""


class Shop:
    """One topic copied into another."""

    def __init__(self, brokers: str, spark: SparkSession, folder: Path) -> None:
        self.brokers = brokers
        self.kafka = ScriptKafka(brokers)
        self.orders, self.copies = fresh_name("orders"), fresh_name("copies")
        self.kafka.create_topic(self.orders, 1)
        self.kafka.create_topic(self.copies, 1)
        self.session = Session(spark, checkpoint=folder)

    def start(self, options: str = "", columns: str = "", copied: str = "", *, drain: bool = False) -> Job:
        names = {"brokers": self.brokers, "orders": self.orders, "copies": self.copies}
        script = SCRIPT.format(options=options, columns=columns, copied=copied)
        [job] = self.session.execute_sql(script, parameters=names, drain=drain)
        return job

    def produce(self, values: Iterable[str], partition: int = 0) -> None:
        self.kafka.produce(self.orders, (Message(None, value.encode()) for value in values), partition)

    def copied(self) -> list[dict[str, Any]]:
        return [json.loads(found.message.value or b"null") for found in self.kafka.read(self.copies)]


@pytest.fixture
def shop(broker: str, spark: SparkSession, tmp_path: Path) -> Iterable[Shop]:
    shop = Shop(broker, spark, tmp_path)
    yield shop
    shop.session.stop()


def test_skipped_messages_are_counted(shop: Shop) -> None:
    shop.produce(['{"id":1}', "{", '{"id":2}', "nonsense"])
    job = shop.start(", 'json.ignore-parse-errors' = 'true'")
    job.await_caught_up(60)
    shop.produce(["[", '{"id":3}'])
    job.await_caught_up(60)
    assert job.progress is not None
    assert job.progress.skipped == 3
    assert [row["id"] for row in shop.copied()] == [1, 2, 3]


def test_headers(shop: Shop) -> None:
    producer = Producer({"bootstrap.servers": shop.brokers})
    producer.produce(shop.orders, b'{"id":1}', headers=[("a", b"1"), ("b", b"2"), ("a", b"3"), ("c", None)])
    producer.flush()
    columns = (
        ", named MAP<STRING, STRING> METADATA FROM 'headers'"
        ", listed ARRAY<ROW<k STRING, v STRING>> METADATA FROM 'header-list'"
    )
    copied = ", named MAP<STRING, STRING>, listed ARRAY<ROW<k STRING, v STRING>>"
    shop.start(columns=columns, copied=copied).await_caught_up(60)
    [row] = shop.copied()
    assert row["named"] == {"a": "3", "b": "2", "c": None}
    assert [(header["k"], header["v"]) for header in row["listed"]] == [("a", "1"), ("b", "2"), ("a", "3"), ("c", None)]


def test_a_new_partition_is_read_from_its_beginning(shop: Shop) -> None:
    shop.produce(['{"id":1}'])
    job = shop.start(", 'scan.startup.mode' = 'latest-offset'")
    shop.produce(['{"id":2}'])
    job.await_caught_up(60)
    admin = AdminClient({"bootstrap.servers": shop.brokers})
    admin.create_partitions([NewPartitions(shop.orders, 2)])[shop.orders].result(30)
    shop.produce(['{"id":3}'], partition=1)
    job.await_caught_up(60)
    assert sorted(row["id"] for row in shop.copied()) == [2, 3]


def test_what_was_not_committed_is_not_read(shop: Shop) -> None:
    producer = Producer({"bootstrap.servers": shop.brokers, "transactional.id": shop.orders})
    producer.init_transactions(30)
    for number, keeps in ((1, True), (2, False), (3, True), (4, False)):
        producer.begin_transaction()
        producer.produce(shop.orders, f'{{"id":{number}}}'.encode())
        producer.flush()
        (producer.commit_transaction if keeps else producer.abort_transaction)(30)
    job = shop.start(", 'properties.isolation.level' = 'read_committed'", drain=True)
    assert job.await_end(60)
    assert [row["id"] for row in shop.copied()] == [1, 3]


def test_catching_up_with_committed_messages_only(shop: Shop) -> None:
    producer = Producer({"bootstrap.servers": shop.brokers, "transactional.id": shop.orders})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(shop.orders, b'{"id":1}')
    producer.flush()
    job = shop.start(", 'properties.isolation.level' = 'read_committed'")
    job.await_caught_up(60)
    assert shop.copied() == []
    producer.commit_transaction(30)
    admin = KafkaAdmin({"bootstrap.servers": shop.brokers})
    while not any(admin.latest([shop.orders], committed_only=True).values()):
        pass  # the markers of a commit arrive after it
    job.await_caught_up(60)
    assert [row["id"] for row in shop.copied()] == [1]


def test_the_group_of_a_table_follows_the_job(shop: Shop) -> None:
    group = fresh_name("group")
    shop.produce(['{"id":1}', '{"id":2}'])
    job = shop.start(f", 'properties.group.id' = '{group}'")
    job.await_caught_up(60)
    job.stop()
    committed = KafkaAdmin({"bootstrap.servers": shop.brokers}).committed([shop.orders], group)
    assert list(committed.values()) == [2]


def test_a_batch_is_no_larger_than_asked_for(shop: Shop) -> None:
    shop.produce(f'{{"id":{number}}}' for number in range(10))
    job = shop.start(", 'scan.max-records-per-batch' = '4'", drain=True)
    assert job.await_end(60)
    job.await_last_report(10)
    assert job.progress is not None
    assert job.progress.batch == 2
    assert [row["id"] for row in shop.copied()] == list(range(10))
