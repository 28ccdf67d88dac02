"""Jobs over page views on a Spark session that is there already, for benchmarks of parts of Millstream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.harness.datasets import MANY_PAIRS
from benchmarks.harness.input_topics import fill_topic
from millstream import Session
from millstream.runtime.kafka.admin import KafkaAdmin

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from millstream.runtime.progress import JobProgress

_BATCHES: Final = 5
SCRIPT: Final = """
CREATE TABLE pageviews (user_id BIGINT, page_id BIGINT, viewtime TIMESTAMP(3), user_region STRING) WITH (
  'connector' = 'kafka', 'topic' = 'pageviews', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
CREATE TABLE counts (user_region STRING, pv BIGINT, PRIMARY KEY (user_region) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'counts', 'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE distinct_counts (user_region STRING, pv BIGINT, uv BIGINT, PRIMARY KEY (user_region) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'distinct_counts', 'properties.bootstrap.servers' = '${brokers}',
  'key.format' = 'json', 'value.format' = 'json');
"""
COUNT: Final = "INSERT INTO counts SELECT user_region, COUNT(*) FROM pageviews GROUP BY user_region"
DISTINCT: Final = """
INSERT INTO distinct_counts
SELECT user_region, COUNT(*), COUNT(DISTINCT user_id) FROM pageviews GROUP BY user_region"""


def fill(brokers: str, rows: int) -> None:
    admin = KafkaAdmin({"bootstrap.servers": brokers})
    for topic in ("counts", "distinct_counts", "passed"):
        admin.ensure_topic(topic, topic)
    fill_topic(brokers, "pageviews", MANY_PAIRS, rows)


def millstream_rate(
    spark: SparkSession, brokers: str, rows: int, insert: str, folder: Path, *, sources: int = 1
) -> float:
    """Messages of the topic per second; a script with several sources counts each message once per source.

    The first batch, which pays for compiling and for starting workers, is left out.
    """
    batches: list[JobProgress] = []
    with Session(spark, checkpoint=folder, on_progress=batches.append) as session:
        script = f"SET 'millstream.batch.max-rows' = '{rows // _BATCHES}'; {SCRIPT} {insert};"
        [job] = session.execute_sql(script, parameters={"brokers": brokers}, drain=True)
        job.await_end()
        job.await_last_report(10)
    measured = [batch for batch in batches if batch.rows_in][1:]
    return sum(batch.rows_in / sources for batch in measured) / sum(batch.batch_seconds for batch in measured)
