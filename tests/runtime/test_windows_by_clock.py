"""Windows of processing time on Spark: they end by the clock, without a row that would make a batch."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from millstream import Session
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.script_kafka import ScriptKafka
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name, produce

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SCRIPT = """
    CREATE TABLE clicks (id INT, seen AS PROCTIME()) WITH ('connector' = 'kafka', 'topic' = '${clicks}',
      'properties.bootstrap.servers' = '${brokers}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
    CREATE TABLE counts (since TIMESTAMP(3), until TIMESTAMP(3), clicks BIGINT, `first` INT) WITH (
      'connector' = 'kafka', 'topic' = '${counts}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
    INSERT INTO counts SELECT window_start, window_end, COUNT(*), MIN(id)
    FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(seen), INTERVAL '1' SECOND)) GROUP BY window_start, window_end;
"""


def test_a_window_ends_without_rows(broker: str, spark: SparkSession, tmp_path: Path) -> None:
    names = {name: fresh_name(name) for name in ("clicks", "counts")}
    for topic in names.values():
        KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(topic, topic)
    counts: list[dict[str, Any]] = []
    for first in (1, 4):
        produce(broker, names["clicks"], [{"id": first + number} for number in range(3)])
        with Session(spark, checkpoint=tmp_path) as session:
            [job] = session.start(session.compile(SCRIPT, parameters={"brokers": broker, **names}))
            end = time.monotonic() + PATIENCE
            while sum(row["clicks"] for row in counts) < first + 2:
                job.raise_failure()
                assert time.monotonic() < end
                counts = read(broker, names["counts"])
    assert sum(row["clicks"] for row in counts) == 6
    assert len({row["until"] for row in counts}) == len(counts), "a window was given twice"
    assert min(row["first"] for row in counts) == 1


def read(broker: str, topic: str) -> list[dict[str, Any]]:
    messages = (found.message.value for found in ScriptKafka(broker).read(topic))
    return [json.loads(value) for value in messages if value is not None]
