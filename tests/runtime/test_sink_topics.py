"""What a job checks about the topics it writes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from millstream import Session
from millstream.connectors.kafka.client_settings import client_settings
from millstream.errors import BrokerError, Code
from millstream.plan.program import compile_script
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.runtime.kafka.clients import KafkaClients
from millstream.runtime.kafka.partition_counts import partitions_of
from millstream.runtime.kafka.preflight import check_kafka
from millstream.source import SourceText
from millstream.testing.script_kafka import ScriptKafka
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SCRIPT = """
CREATE TABLE plain (id INT, topic STRING METADATA) WITH (
  'connector' = 'kafka', 'topic' = '{first};{second}', 'properties.bootstrap.servers' = '{brokers}',
  'format' = 'json'{more}
);
CREATE TABLE keyed (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = '{third}', 'properties.bootstrap.servers' = '{brokers}',
  'key.format' = 'json', 'value.format' = 'json'
);
EXECUTE STATEMENT SET BEGIN
  INSERT INTO plain VALUES (1, '{first}');
  INSERT INTO keyed VALUES (1);
END;
"""


def check_notices(brokers: str, names: list[str], more: str = "") -> list[str]:
    first, second, third = names
    text = SCRIPT.format(brokers=brokers, first=first, second=second, third=third, more=more)
    [job] = compile_script(SourceText("s", text), {}, {}).jobs
    notices: list[str] = []
    check_kafka(job, KafkaClients(), notices.append, resumes=None)
    return notices


def test_missing_topics_are_created_and_it_is_told(broker: str) -> None:
    names = [fresh_name("first"), fresh_name("second"), fresh_name("third")]
    notices = check_notices(broker, names)
    assert [name in text for name, text in zip(names, notices, strict=True)] == [True] * 3
    assert ["cleanup.policy" in text for text in notices] == [False, False, True]
    assert check_notices(broker, names) == []


def test_missing_topic_that_must_not_be_created(broker: str) -> None:
    names = [fresh_name("first"), fresh_name("second"), fresh_name("third")]
    ScriptKafka(broker).create_topic(names[0], 1)
    with pytest.raises(BrokerError) as caught:
        check_notices(broker, names, ", 'properties.allow.auto.create.topics' = 'false'")
    assert caught.value.code is Code.TOPIC_MISSING
    assert names[1] in str(caught.value)


def test_partitions_that_are_added_are_seen(broker: str) -> None:
    topic, properties = fresh_name("growing"), {"bootstrap.servers": broker}
    ScriptKafka(broker).create_topic(topic, 2)
    assert partitions_of(properties, topic) == (0, 1)
    admin = AdminClient(client_settings(properties))
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(PATIENCE)
    assert partitions_of(properties, topic) == (0, 1, 2)


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_topic_that_accepts_small_requests_only(
    broker: str, spark: SparkSession, tmp_path: Path, guarantee: str
) -> None:
    """Each message is smaller than the limit; a request of a usual size would be larger."""
    topic = fresh_name("small")
    KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(topic, topic, {"max.message.bytes": "20000"})
    script = f"""
    CREATE TABLE made (id INT) WITH (
      'connector' = 'datagen', 'number-of-rows' = '20000', 'fields.id.kind' = 'sequence',
      'fields.id.start' = '1', 'fields.id.end' = '20000');
    CREATE TABLE written (id INT, text STRING) WITH (
      'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{broker}', 'format' = 'csv',
      'sink.delivery-guarantee' = '{guarantee}', 'sink.transactional-id-prefix' = '{topic}');
    INSERT INTO written SELECT id, REPEAT('x', 50) FROM made;
    """
    with Session(spark, checkpoint=tmp_path) as session:
        [job] = session.execute_sql(script)
        assert job.await_end(PATIENCE)
    values = (received.message.value or b"" for received in ScriptKafka(broker).read(topic))
    assert sorted(int(value.split(b",")[0]) for value in values) == list(range(1, 20_001))
