"""The same key goes to the same partition, whoever writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import Session
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PARTITIONS = 7
SCRIPT = """
CREATE TABLE given (id INT, name STRING) WITH (
  'connector' = 'kafka', 'topic' = '${given}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'csv');
CREATE TABLE json_keys (id INT, name STRING) WITH (
  'connector' = 'kafka', 'topic' = '${written}', 'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json', 'key.fields' = 'id;name', 'value.format' = 'csv');
CREATE TABLE avro_keys WITH ('key.format' = 'avro') LIKE json_keys;
CREATE TABLE raw_keys WITH ('key.format' = 'raw', 'key.fields' = 'name') LIKE json_keys;
EXECUTE STATEMENT SET BEGIN
  INSERT INTO json_keys SELECT id, name FROM given;
  INSERT INTO avro_keys SELECT id, name FROM given;
  INSERT INTO raw_keys SELECT id, name FROM given;
END;
"""


def partitions_of_keys(kafka: ScriptKafka, topic: str) -> dict[bytes, int]:
    return {found.message.key: found.partition for found in kafka.read(topic) if found.message.key is not None}


def test_by_a_job_by_java_and_by_the_c_client(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    kafka = ScriptKafka(broker)
    topics = {name: fresh_name(name) for name in ("given", "written", "java", "c")}
    for name, topic in topics.items():
        kafka.create_topic(topic, 1 if name == "given" else PARTITIONS)
    rows = (Message(None, f"{number},é{number * 37}".encode()) for number in range(40))
    kafka.produce(topics["given"], rows, 0)
    names = {"brokers": broker, "given": topics["given"], "written": topics["written"]}
    session = Session(spark, checkpoint=tmp_path)
    [job] = session.execute_sql(SCRIPT, parameters=names, drain=True)
    assert job.await_end(PATIENCE)
    session.stop()
    written = partitions_of_keys(kafka, topics["written"])
    assert len(written) == 3 * 40
    assert set(written.values()) == set(range(PARTITIONS))

    kafka.produce(topics["c"], (Message(key, b"v") for key in written), None)
    assert partitions_of_keys(kafka, topics["c"]) == written
    keys = spark.createDataFrame([(bytearray(key), bytearray(b"v")) for key in written], "key BINARY, value BINARY")
    options = {"kafka.bootstrap.servers": broker, "topic": topics["java"]}
    keys.write.format("kafka").options(**options).save()
    assert partitions_of_keys(kafka, topics["java"]) == written
