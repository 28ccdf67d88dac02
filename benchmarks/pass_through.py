"""JSON in, JSON out through the broker, beside plain PySpark: `python -m benchmarks pass_through [ROWS]`.

Both read the same topic in batches of the same size on the same Spark session, change two of the four fields and write
all four. The rounds alternate; the first batch of each, which pays for compiling and starting workers, is left out.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from benchmarks.harness.page_views import COLUMNS
from benchmarks.pageviews import fill, millstream_rate, plain_stream_rate
from millstream.catalog.job_settings import JobSettings
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.spark.session import OwnedSession
from millstream.spark.types import spark_schema
from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ROUNDS: Final = 3
_PARTITIONS: Final = 4
_SINK: Final = """
CREATE TABLE copied (user_id BIGINT, page_id BIGINT, viewtime TIMESTAMP(3), user_region STRING) WITH (
  'connector' = 'kafka', 'topic' = 'copied', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
INSERT INTO copied SELECT user_id, page_id + 1, viewtime, UPPER(user_region) FROM pageviews"""


def plain_copy(messages: DataFrame) -> DataFrame:
    """The equivalent written by hand: decode, change, encode in the same shape."""
    rows = messages.select(F.from_json(F.col("value").cast("string"), spark_schema(COLUMNS)).alias("row")).select(
        "row.*"
    )
    changed = rows.select(
        "user_id",
        (F.col("page_id") + 1).alias("page_id"),
        F.date_format("viewtime", "yyyy-MM-dd HH:mm:ss.SSS").alias("viewtime"),
        F.upper("user_region").alias("user_region"),
    )
    return changed.select(F.to_json(F.struct("*")).alias("value"))


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_500_000
    plain, here = [], []
    with tempfile.TemporaryDirectory() as name, EmbeddedBroker(partitions=_PARTITIONS) as broker:
        folder, brokers = Path(name), broker.bootstrap
        fill(brokers, rows)
        KafkaAdmin({"bootstrap.servers": brokers}).ensure_topic("copied", "copied")
        owned = OwnedSession(JobSettings(), 2, None, folder / "spark.log", print)
        try:
            for turn in range(_ROUNDS):
                plain.append(
                    plain_stream_rate(
                        owned.spark, brokers, rows, plain_copy, folder=folder / f"plain-{turn}", mode="append"
                    )
                )
                here.append(millstream_rate(owned.spark, brokers, rows, _SINK, folder / f"here-{turn}"))
        finally:
            owned.close()
    print(f"{rows:,} page views of about 100 bytes, {_PARTITIONS} partitions, median of {_ROUNDS} rounds")
    print(f"plain PySpark   {median(plain):>10,.0f} rows/s")
    print(f"Millstream      {median(here):>10,.0f} rows/s, ratio {median(here) / median(plain):.2f}")


if __name__ == "__main__":
    main()
