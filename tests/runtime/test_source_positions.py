"""Where jobs start and stop reading, for cases that script tests cannot set up: times, deletions, transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from millstream.errors import BrokerError, Code
from tests.patience import PATIENCE
from tests.runtime.shop import Shop

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

SPECIFIC = ", 'scan.startup.mode' = 'specific-offsets', 'scan.startup.specific-offsets' = 'partition:0,offset:{}'"


@pytest.fixture
def shop(broker: str, spark: SparkSession, tmp_path: Path) -> Iterable[Shop]:
    shop = Shop(broker, spark, tmp_path)
    yield shop
    shop.session.stop()


def delete_before(shop: Shop, offset: int) -> None:
    place = TopicPartition(shop.orders, 0, offset)
    admin = AdminClient({"bootstrap.servers": shop.brokers})
    admin.delete_records([place])[place].result(PATIENCE)


@pytest.mark.parametrize(
    ("start", "end", "ids"), [(1002, None, [2, 3, 4]), (1001, 1003, [1, 2]), (1003, 1003, []), (9999, 9999, [])]
)
def test_times_to_start_and_to_end_at(shop: Shop, start: int, end: int | None, ids: list[int]) -> None:
    for number in (1, 2, 3):
        shop.produce_one(f'{{"id":{number}}}'.encode(), timestamp=1000 + number)
    options = f", 'scan.startup.mode' = 'timestamp', 'scan.startup.timestamp-millis' = '{start}'"
    if end is not None:
        options += f", 'scan.bounded.mode' = 'timestamp', 'scan.bounded.timestamp-millis' = '{end}'"
    job = shop.start(options)
    shop.produce_one(b'{"id":4}', timestamp=2000)
    job.await_caught_up(PATIENCE)
    assert shop.read_copied_ids() == ids


def test_a_time_that_only_an_open_transaction_has(shop: Shop) -> None:
    """Nothing after its first message can be read yet, so the start would be after the end."""
    shop.produce_one(b'{"id":1}', timestamp=1000)
    producer = Producer({"bootstrap.servers": shop.brokers, "transactional.id": shop.orders})
    producer.init_transactions(30)
    producer.begin_transaction()
    for number in (2, 3):
        producer.produce(shop.orders, f'{{"id":{number}}}'.encode(), timestamp=1000 + number)
    producer.flush()
    options = ", 'scan.startup.mode' = 'timestamp', 'properties.isolation.level' = 'read_committed'"
    job = shop.start(f"{options}, 'scan.startup.timestamp-millis' = '1003'")
    job.await_caught_up(PATIENCE)
    producer.commit_transaction(30)
    while shop.admin.latest([shop.orders], committed_only=True) != shop.admin.latest([shop.orders]):
        assert job.is_running  # the markers of a commit arrive after it
    job.await_caught_up(PATIENCE)
    assert shop.read_copied_ids() == [2, 3]


@pytest.mark.parametrize("startup", ["", SPECIFIC.format(1)])
def test_a_range_that_was_deleted_is_empty(shop: Shop, startup: str) -> None:
    shop.produce(f'{{"id":{number}}}' for number in range(6))
    delete_before(shop, 4)
    ends = "'scan.bounded.mode' = 'specific-offsets', 'scan.bounded.specific-offsets' = 'partition:0,offset:3'"
    assert shop.start(f"{startup}, {ends}").await_end(PATIENCE)
    assert shop.read_copied_ids() == []


def test_what_is_left_of_a_range_is_read(shop: Shop) -> None:
    shop.produce(f'{{"id":{number}}}' for number in range(6))
    delete_before(shop, 4)
    assert shop.start(f"{SPECIFIC.format(1)}, 'scan.bounded.mode' = 'latest-offset'").await_end(PATIENCE)
    assert shop.read_copied_ids() == [4, 5]


def test_a_topic_of_which_all_was_deleted(shop: Shop) -> None:
    shop.produce(['{"id":1}', '{"id":2}'])
    delete_before(shop, 2)
    assert shop.start(", 'scan.bounded.mode' = 'latest-offset'").await_end(PATIENCE)
    assert shop.read_copied_ids() == []


def test_an_offset_behind_the_end_is_told(shop: Shop) -> None:
    shop.produce(['{"id":1}'])
    with pytest.raises(BrokerError) as caught:
        shop.start(SPECIFIC.format(7))
    assert caught.value.code is Code.OFFSETS_UNAVAILABLE
    assert f"{shop.orders}-0 from 7, which ends at 1" in str(caught.value.diagnostics[0].detail)
