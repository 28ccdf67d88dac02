"""The round-robin partitioner, through Spark's sink and through our own producers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

from millstream import Session
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SCRIPT = """
CREATE TABLE given (id INT) WITH (
  'connector' = 'kafka', 'topic' = '${given}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'csv');
CREATE TABLE written (id INT) WITH (
  'connector' = 'kafka', 'topic' = '${written}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'csv',
  'sink.partitioner' = 'round-robin', 'sink.transactional-id-prefix' = '${written}',
  'sink.delivery-guarantee' = '${guarantee}');
INSERT INTO written SELECT id FROM given;
"""


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_batch_is_spread_evenly(broker: str, spark: SparkSession, tmp_path: Path, guarantee: str) -> None:
    kafka, given, written = ScriptKafka(broker), fresh_name("given"), fresh_name("written")
    kafka.create_topic(given, 1)
    kafka.create_topic(written, 3)
    names = {"brokers": broker, "given": given, "written": written, "guarantee": guarantee}

    def copy(rows: int) -> dict[int, int]:
        """Returns the number of messages in each partition."""
        kafka.produce(given, (Message(None, b"%d" % number) for number in range(rows)), 0)
        with Session(spark, checkpoint=tmp_path) as session:
            [job] = session.execute_sql(SCRIPT, parameters=names, drain=True)
            assert job.await_end(PATIENCE)
        return Counter(found.partition for found in kafka.read(written))

    assert copy(300) == {0: 100, 1: 100, 2: 100}
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_partitions([NewPartitions(written, 4)])[written].result(PATIENCE)
    assert copy(400) == {0: 200, 1: 200, 2: 200, 3: 100}
