"""Page views per region, steady state, beside plain PySpark: `python -m benchmarks.pageviews [ROWS]`.

Both read the same JSON topic in batches of the same size on the same Spark session and write to Kafka. The first batch,
which pays for compiling and for starting workers, is left out.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from benchmarks.harness.page_view_topic import PARTITIONS, PageViewTopic
from millstream import Session
from millstream.catalog.job_settings import JobSettings
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.spark.session import STREAMING, OwnedSession
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame, SparkSession

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
    for topic in ("counts", "distinct_counts", "plain"):
        admin.ensure_topic(topic, topic)
    PageViewTopic(brokers).grow(rows)


def millstream_rate(
    spark: SparkSession, brokers: str, rows: int, insert: str, folder: Path, *, sources: int = 1
) -> float:
    """Messages of the topic per second; a script with several sources counts each message once per source."""
    batches: list[JobProgress] = []
    with Session(spark, checkpoint=folder, on_progress=batches.append) as session:
        script = f"SET 'millstream.batch.max-rows' = '{rows // _BATCHES}'; {SCRIPT} {insert};"
        [job] = session.execute_sql(script, parameters={"brokers": brokers}, drain=True)
        job.await_end()
        job.await_last_report(10)
    return _rate((batch.rows_in / sources, batch.batch_seconds) for batch in batches)


def plain_count(messages: DataFrame) -> DataFrame:
    """The equivalent written by hand: decode one field, count, encode."""
    decoded = messages.select(F.from_json(F.col("value").cast("string"), "user_region STRING").alias("row"))
    counted = decoded.groupBy("row.user_region").agg(F.count("*").alias("pv"))
    return counted.select(
        F.to_json(F.struct("user_region")).alias("key"), F.to_json(F.struct("user_region", "pv")).alias("value")
    )


def plain_stream_rate(
    spark: SparkSession,
    brokers: str,
    rows: int,
    query_of: Callable[[DataFrame], DataFrame],
    *,
    folder: Path,
    mode: str = "update",
) -> float:
    """A query on the topic's messages, written by hand, with the same settings."""
    sibling = spark.newSession()
    for key, value in STREAMING.items():
        sibling.conf.set(key, value)
    messages = (
        sibling.readStream.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("subscribe", "pageviews")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", rows // _BATCHES)
        .load()
    )
    query = (
        query_of(messages)
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("topic", "plain")
        .option("checkpointLocation", str(folder))
        .outputMode(mode)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return _rate((report.numInputRows, report.durationMs["triggerExecution"] / 1000) for report in query.recentProgress)


def _rate(batches: Iterable[tuple[float, float]]) -> float:
    measured = [(rows, seconds) for rows, seconds in batches if rows][1:]
    return sum(rows for rows, _ in measured) / sum(seconds for _, seconds in measured)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_500_000
    with tempfile.TemporaryDirectory() as name, EmbeddedBroker(partitions=PARTITIONS) as broker:
        folder, brokers = Path(name), broker.bootstrap
        fill(brokers, rows)
        owned = OwnedSession(JobSettings(), 2, None, folder / "spark.log", print)
        try:
            plain = plain_stream_rate(owned.spark, brokers, rows, plain_count, folder=folder / "plain")
            counted = millstream_rate(owned.spark, brokers, rows, COUNT, folder / "count")
            distinct = millstream_rate(owned.spark, brokers, rows, DISTINCT, folder / "distinct")
        finally:
            owned.close()
    print(f"{rows:,} page views of about 100 bytes, {_BATCHES} batches, {PARTITIONS} partitions")
    print(f"plain PySpark, COUNT(*)                     {plain:>10,.0f} rows/s")
    print(f"Millstream, COUNT(*)                        {counted:>10,.0f} rows/s, ratio {counted / plain:.2f}")
    print(f"Millstream, COUNT(*) and COUNT(DISTINCT)    {distinct:>10,.0f} rows/s, ratio {distinct / plain:.2f}")


if __name__ == "__main__":
    main()
