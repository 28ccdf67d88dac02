"""Dead letters apart from their content: their origin, their number, and failures to write them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from millstream.connectors.kafka.dead_letters import HEADERS, HEADROOM_BYTES, DeadLetterHeader
from millstream.errors import BrokerError, Code, JobError
from millstream.plan.program import compile_script
from millstream.runtime.kafka.clients import KafkaClients
from millstream.runtime.kafka.preflight import check_kafka
from millstream.source import SourceText
from tests.patience import PATIENCE
from tests.runtime.shop import SCRIPT, Shop
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession


class LetterBox(Shop):
    """Copies two topics to one, and undecodable messages to another."""

    def __init__(self, brokers: str, spark: SparkSession, folder: Path) -> None:
        super().__init__(brokers, spark, folder)
        self.more, self.dead = fresh_name("more"), fresh_name("dead")
        self.kafka.create_topic(self.more, 1)
        self.topics = f"'topic' = '${{orders}};{self.more}'"
        self.options = f", 'scan.startup.mode' = 'earliest-offset', 'scan.dead-letter.topic' = '{self.dead}'"


@pytest.fixture
def shop(broker: str, spark: SparkSession, tmp_path: Path) -> Iterable[LetterBox]:
    shop = LetterBox(broker, spark, tmp_path)
    yield shop
    shop.session.stop()


def limit(shop: LetterBox, topic: str, message_bytes: int) -> None:
    size = ConfigEntry("max.message.bytes", str(message_bytes), incremental_operation=AlterConfigOpType.SET)
    setting = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[size])
    admin = AdminClient({"bootstrap.servers": shop.brokers})
    admin.incremental_alter_configs([setting])[setting].result(PATIENCE)


def test_a_dead_letter_tells_where_it_comes_from(shop: LetterBox) -> None:
    shop.produce(['{"id":1}'])
    shop.produce(['{"id":2}', '{"id":3}'], topic=shop.more)
    headers = [("a", b"1"), ("a", None)]
    shop.produce_one(b"\xff\x00", shop.more, key=b"", timestamp=1_700_000_000_123, headers=headers)
    job = shop.start(shop.options, topic=shop.topics, drain=True)
    assert job.await_end(PATIENCE)
    job.await_last_report(PATIENCE)
    assert job.progress is not None
    assert (job.progress.dead_letters, job.progress.skipped) == (1, 0)
    [found] = shop.kafka.read(shop.dead)
    assert (found.message.key, found.message.value) == (b"", b"\xff\x00")
    assert found.headers[:2] == (("a", b"1"), ("a", None))
    details = dict(found.headers[2:])
    assert set(details) == set(HEADERS)
    error = details.pop(DeadLetterHeader.ERROR)
    assert error is not None
    assert error.startswith(b"Failed to deserialize JSON '0xff00'.")
    assert details == {
        DeadLetterHeader.TOPIC: shop.more.encode(),
        DeadLetterHeader.PARTITION: b"0",
        DeadLetterHeader.OFFSET: b"2",
        DeadLetterHeader.TIMESTAMP: b"1700000000123",
        DeadLetterHeader.TABLE: b"orders",
    }


def test_a_batch_that_fails_is_repeated_with_its_letters(shop: LetterBox) -> None:
    """The sink rejects a row as long as this one, so the batch fails after writing its letters; then it is repeated."""
    note = ", note STRING"
    shop.produce(["one", f'{{"id":1,"note":"{"x" * 2000}"}}'])
    limit(shop, shop.copies, 1000)
    with pytest.raises(JobError):
        shop.start(shop.options, note, note, shop.topics, drain=True).await_end(PATIENCE)
    assert [found.message.value for found in shop.kafka.read(shop.dead)] == [b"one"]
    limit(shop, shop.copies, 10_000)
    assert shop.again().start(shop.options, note, note, shop.topics, drain=True).await_end(PATIENCE)
    assert shop.read_copied_ids() == [1]
    assert [found.message.value for found in shop.kafka.read(shop.dead)] == [b"one", b"one"]


def unreadable(size: int) -> bytes:
    """Not compressible either."""
    return b"\xff" + random.Random(size).randbytes(size - 1)


def produce_large(shop: LetterBox, *values: bytes) -> int:
    """Each in a request of its own; returns how many the broker accepts."""
    taken: list[bool] = []
    producer = Producer({"bootstrap.servers": shop.brokers, "message.max.bytes": 10_000_000})
    for value in values:
        producer.produce(
            shop.orders, value, partition=0, on_delivery=lambda error, _message: taken.append(error is None)
        )
        assert producer.flush(30) == 0
    return sum(taken)


def test_a_letter_that_cannot_be_written_fails_the_job(shop: LetterBox) -> None:
    shop.kafka.create_topic(shop.dead, 1)
    limit(shop, shop.dead, 1000)
    produce_large(shop, b'{"id":1}', unreadable(2000))
    with pytest.raises(JobError, match=shop.dead) as caught:
        shop.start(shop.options, topic=shop.topics, drain=True).await_end(PATIENCE)
    [problem] = caught.value.diagnostics
    assert problem.code is Code.JOB_FAILED
    assert f"Topic {shop.orders}, partition 0, offset 1" in str(problem.detail)
    assert f'max.message.bytes of topic "{shop.dead}"' in str(problem.hint)
    assert shop.read_copies() == []


def test_a_message_as_large_as_its_topic_takes(shop: LetterBox) -> None:
    """Larger than brokers accept by default, and with headers larger than its own topic accepts."""
    most = 2_000_000
    limit(shop, shop.orders, most)
    overhead = 80  # of a request with one message that has neither key nor headers
    assert produce_large(shop, unreadable(most)) == 0
    assert produce_large(shop, unreadable(most - overhead), b'{"id":1}') == 2
    assert shop.start(shop.options, topic=shop.topics, drain=True).await_end(PATIENCE)
    assert [found.message.value for found in shop.kafka.read(shop.dead)] == [unreadable(most - overhead)]
    assert shop.read_copied_ids() == [1]


def test_letters_that_fit_alone_and_not_together(shop: LetterBox) -> None:
    shop.kafka.create_topic(shop.dead, 1)
    limit(shop, shop.dead, 30_000)
    values = [unreadable(9000 + number) for number in range(10)]
    produce_large(shop, *values)
    assert shop.start(shop.options, topic=shop.topics, drain=True).await_end(PATIENCE)
    assert sorted(found.message.value or b"" for found in shop.kafka.read(shop.dead)) == sorted(values)


def test_a_topic_that_takes_less_is_told_of(shop: LetterBox) -> None:
    def check_notices() -> list[str]:
        script = SCRIPT.format(columns="", topic=shop.topics, options=shop.options, copied="")
        names = {"brokers": shop.brokers, "orders": shop.orders, "copies": shop.copies}
        notices: list[str] = []
        check_kafka(
            compile_script(SourceText("s", script), names, {}).jobs[0], KafkaClients(), notices.append, resumes=None
        )
        return [notice for notice in notices if shop.dead in notice]

    limit(shop, shop.more, 500_000)
    [created] = check_notices()
    assert "was created" in created
    assert check_notices() == []
    limit(shop, shop.dead, 400_000)
    limit(shop, shop.orders, 300_000)
    [small] = check_notices()
    assert "up to 400000 bytes" in small
    assert str(500_000 + HEADROOM_BYTES) in small


def test_a_topic_that_may_not_be_created_is_missed_before_the_start(shop: LetterBox) -> None:
    with pytest.raises(BrokerError) as caught:
        shop.start(f"{shop.options}, 'properties.allow.auto.create.topics' = 'false'", topic=shop.topics)
    [problem] = caught.value.diagnostics
    assert problem.code is Code.TOPIC_MISSING
    assert problem.span is not None
    assert problem.span.text == f"'{shop.dead}'"
    assert "'scan.dead-letter.topic'" in str(problem.hint)
    assert shop.admin.partitions(shop.dead) is None
