"""Tables behind a login."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream import Session
from millstream.errors import BrokerError, Code, SetupError
from millstream.testing.broker import EmbeddedBroker
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.conftest import skip_without_java

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

SCRIPT = """
CREATE TABLE orders (id INT) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'format' = 'json', 'properties.group.id' = 'shop',
  'properties.bootstrap.servers' = '${brokers}',
  'properties.security.protocol' = 'SASL_PLAINTEXT', 'properties.sasl.mechanism' = 'PLAIN',
  'properties.sasl.jaas.config' = 'org.apache.flink.kafka.shaded.org.apache.kafka.common.security.plain.PlainLoginModule
    required username="ann" password="${password}";');
CREATE TABLE copies LIKE orders (OVERWRITING OPTIONS);
INSERT INTO copies /*+ OPTIONS('topic' = 'copies') */ SELECT id FROM orders;
"""


@pytest.fixture(scope="module")
def secured() -> Iterator[EmbeddedBroker]:
    broker = EmbeddedBroker(users={"ann": "opensesame"})
    try:
        broker.start()
    except SetupError as error:
        skip_without_java(error)
    with broker:
        kafka = ScriptKafka(broker.bootstrap)
        kafka.create_topic("orders", 1)
        kafka.create_topic("copies", 1)
        yield broker


def test_topics_are_read_and_written_by_a_user(secured: EmbeddedBroker, spark: SparkSession, tmp_path: Path) -> None:
    kafka = ScriptKafka(secured.bootstrap)
    kafka.produce("orders", [Message(None, b'{"id":1}')], 0)
    parameters = {"brokers": secured.secured_bootstrap, "password": "opensesame"}
    with Session(spark, checkpoint=tmp_path) as session:
        [job] = session.execute_sql(SCRIPT, parameters=parameters)
        job.await_caught_up(60)
    assert [found.message.value for found in kafka.read("copies")] == [b'{"id":1}']


def test_a_wrong_password_is_told(secured: EmbeddedBroker, spark: SparkSession, tmp_path: Path) -> None:
    parameters = {"brokers": secured.secured_bootstrap, "password": "wrong"}
    with Session(spark, checkpoint=tmp_path) as session, pytest.raises(BrokerError) as caught:
        session.execute_sql(SCRIPT, parameters=parameters)
    assert caught.value.code is Code.BROKER_REFUSED
    assert "wrong" not in str(caught.value)
