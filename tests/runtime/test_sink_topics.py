"""What a job checks about the topics it writes to."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from millstream.connectors.kafka.client_settings import client_settings
from millstream.errors import BrokerError, Code
from millstream.plan.program import compile_script
from millstream.runtime.kafka.clients import KafkaClients
from millstream.runtime.kafka.partition_counts import partitions_of
from millstream.runtime.kafka.preflight import check_kafka
from millstream.source import SourceText
from millstream.testing.script_kafka import ScriptKafka
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name

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
