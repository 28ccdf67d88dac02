"""Reading topics, as far as that needs a real broker and a real Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]

from millstream import Session
from tests.patience import PATIENCE
from tests.runtime.shop import Shop
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def shop(broker: str, spark: SparkSession, tmp_path: Path) -> Iterable[Shop]:
    shop = Shop(broker, spark, tmp_path)
    yield shop
    shop.session.stop()


def test_skipped_messages_are_counted(shop: Shop) -> None:
    shop.produce(['{"id":1}', "{", '{"id":2}', "nonsense"])
    job = shop.start(", 'json.ignore-parse-errors' = 'true'")
    job.await_caught_up(PATIENCE)
    shop.produce(["[", '{"id":3}'])
    job.await_caught_up(PATIENCE)
    assert job.progress is not None
    assert job.progress.skipped == 3
    assert shop.read_copied_ids() == [1, 2, 3]


def test_headers(shop: Shop) -> None:
    producer = Producer({"bootstrap.servers": shop.brokers})
    producer.produce(shop.orders, b'{"id":1}', headers=[("a", b"1"), ("b", b"2"), ("a", b"3"), ("c", None)])
    producer.flush()
    columns = (
        ", named MAP<STRING, STRING> METADATA FROM 'headers'"
        ", listed ARRAY<ROW<k STRING, v STRING>> METADATA FROM 'header-list'"
    )
    copied = ", named MAP<STRING, STRING>, listed ARRAY<ROW<k STRING, v STRING>>"
    shop.start(columns=columns, copied=copied).await_caught_up(PATIENCE)
    [row] = shop.read_copies()
    assert row["named"] == {"a": "3", "b": "2", "c": None}
    assert [(header["k"], header["v"]) for header in row["listed"]] == [("a", "1"), ("b", "2"), ("a", "3"), ("c", None)]


def test_times_of_a_topic_that_sets_them(shop: Shop) -> None:
    topic = fresh_name("stamped")
    stamped = NewTopic(topic, 1, config={"message.timestamp.type": "LogAppendTime"})
    admin = AdminClient({"bootstrap.servers": shop.brokers})
    admin.create_topics([stamped])[topic].result(PATIENCE)
    shop.produce_one(b'{"id":1}', topic=topic, timestamp=1000)
    columns = (
        ", kind STRING METADATA FROM 'timestamp-type', `at` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL"
        ", is_now AS `at` > TO_TIMESTAMP_LTZ(1700000000000, 3)"
    )
    copied = ", kind STRING, `at` TIMESTAMP_LTZ(3), is_now BOOLEAN"
    shop.start(columns=columns, copied=copied, topic=f"'topic' = '{topic}'").await_caught_up(PATIENCE)
    [row] = shop.read_copies()
    assert (row["kind"], row["is_now"]) == ("LogAppendTime", True)


def test_a_new_partition_is_read_from_its_beginning(shop: Shop) -> None:
    shop.produce(['{"id":1}'])
    job = shop.start(", 'scan.startup.mode' = 'latest-offset'")
    shop.produce(['{"id":2}'])
    job.await_caught_up(PATIENCE)
    admin = AdminClient({"bootstrap.servers": shop.brokers})
    admin.create_partitions([NewPartitions(shop.orders, 2)])[shop.orders].result(PATIENCE)
    shop.produce(['{"id":3}'], partition=1)
    job.await_caught_up(PATIENCE)
    assert sorted(row["id"] for row in shop.read_copies()) == [2, 3]


def test_a_new_topic_of_a_pattern_is_read_from_its_beginning(shop: Shop) -> None:
    shop.produce(['{"id":1}'])
    options = ", 'scan.startup.mode' = 'latest-offset', 'properties.metadata.max.age.ms' = '100'"
    job = shop.start(options, topic="'topic-pattern' = '${orders}.*'")
    shop.produce(['{"id":2}'])
    job.await_caught_up(PATIENCE)
    added = f"{shop.orders}-more"
    shop.kafka.create_topic(added, 1)
    shop.produce(['{"id":3}'], topic=added)
    job.await_caught_up(PATIENCE)
    assert sorted(shop.read_copied_ids()) == [2, 3]


def test_what_was_not_committed_is_not_read(shop: Shop) -> None:
    producer = Producer({"bootstrap.servers": shop.brokers, "transactional.id": shop.orders})
    producer.init_transactions(30)
    for number, keeps in ((1, True), (2, False), (3, True), (4, False)):
        producer.begin_transaction()
        producer.produce(shop.orders, f'{{"id":{number}}}'.encode())
        producer.flush()
        (producer.commit_transaction if keeps else producer.abort_transaction)(30)
    group = fresh_name("group")
    options = f", 'properties.isolation.level' = 'read_committed', 'properties.group.id' = '{group}'"
    job = shop.start(f"{options}, 'scan.bounded.mode' = 'latest-offset'")  # the end is after a marker
    assert job.await_end(PATIENCE)
    job.await_last_report(PATIENCE)
    assert shop.read_copied_ids() == [1, 3]
    assert job.progress is not None
    assert (job.progress.total_rows_in, job.progress.total_lag) == (2, 0)
    assert shop.admin.committed([shop.orders], group) == shop.admin.latest([shop.orders])


def test_catching_up_with_committed_messages_only(shop: Shop) -> None:
    producer = Producer({"bootstrap.servers": shop.brokers, "transactional.id": shop.orders})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(shop.orders, b'{"id":1}')
    producer.flush()
    job = shop.start(", 'properties.isolation.level' = 'read_committed'")
    job.await_caught_up(PATIENCE)
    assert shop.read_copies() == []
    producer.commit_transaction(30)
    while not any(shop.admin.latest([shop.orders], committed_only=True).values()):
        pass  # the markers of a commit arrive after it
    job.await_caught_up(PATIENCE)
    assert shop.read_copied_ids() == [1]
    job.await_caught_up(PATIENCE)  # the last offset is that of a marker, which no reader ever sees


def test_the_group_of_a_table_follows_the_job(shop: Shop) -> None:
    group = fresh_name("group")
    shop.produce(['{"id":1}', '{"id":2}'])
    job = shop.start(f", 'properties.group.id' = '{group}'")
    job.await_caught_up(PATIENCE)
    shop.produce(['{"id":3}'])
    job.await_caught_up(PATIENCE)
    ends = shop.admin.latest([shop.orders])
    while shop.admin.committed([shop.orders], group) != ends:  # a lag monitor sees it while the job runs
        assert job.is_running
    job.stop()
    assert list(shop.admin.committed([shop.orders], group).values()) == [3]


def test_a_batch_is_no_larger_than_asked_for(shop: Shop) -> None:
    shop.produce(f'{{"id":{number}}}' for number in range(10))
    job = shop.start(", 'scan.max-records-per-batch' = '4'", drain=True)
    assert job.await_end(PATIENCE)
    job.await_last_report(PATIENCE)
    assert job.progress is not None
    assert job.progress.batch == 2
    assert shop.read_copied_ids() == list(range(10))


def test_a_batch_is_no_larger_than_asked_for_over_all_partitions(
    broker: str, spark: SparkSession, tmp_path: Path
) -> None:
    shop = Shop(broker, spark, tmp_path, partitions=3)
    for partition in range(3):
        shop.produce((f'{{"id":{partition * 10 + number}}}' for number in range(8)), partition)
    sizes: list[int] = []
    shop.session = Session(spark, checkpoint=tmp_path, on_progress=lambda progress: sizes.append(progress.rows_in))
    job = shop.start(", 'scan.max-records-per-batch' = '6'", drain=True)
    assert job.await_end(PATIENCE)
    job.await_last_report(PATIENCE)
    assert (max(sizes), sum(sizes)) == (6, 24)
    shop.session.stop()
