"""Workloads written by hand for Spark Structured Streaming, in a process of their own.

`python -m benchmarks.comparison.plain_spark WORKLOAD BROKERS SOURCE OUTPUT CHECKPOINT BATCH_ROWS`
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.avro.functions import to_avro

from benchmarks.harness.engine_jars import spark_jars
from benchmarks.harness.engines import HEAP, PARALLELISM
from millstream.jvm.java import find_java
from millstream.jvm.parts import Part, jars

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column, DataFrame

SETTINGS: Final = {
    "spark.master": f"local[{PARALLELISM}]",
    "spark.driver.memory": HEAP,
    "spark.sql.shuffle.partitions": str(PARALLELISM),
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
}
_VIEW: Final = "user_id LONG, page_id LONG, viewtime TIMESTAMP, user_region STRING"
_ORDER: Final = "STRUCT<id: LONG, customer: LONG, amount: LONG>"
_AVRO: Final = """{"type": "record", "name": "results", "fields": [
  {"name": "user_id", "type": ["null", "long"]},
  {"name": "page_id", "type": ["null", "long"]},
  {"name": "viewtime", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
  {"name": "user_region", "type": ["null", "string"]}]}"""
_MODES: Final = {False: "append", True: "update"}


@dataclass(frozen=True, slots=True)
class SparkJob:
    build: Callable[[DataFrame], DataFrame]
    """From the messages of the source to those of the sink."""
    has_state: bool = False


def _read(messages: DataFrame, schema: str) -> DataFrame:
    return messages.select(F.from_json(F.col("value").cast("string"), schema).alias("row")).select("row.*")


def _write_json(*columns: Column | str) -> Column:
    return F.to_json(F.struct(*columns)).alias("value")


def _pass_json(messages: DataFrame) -> DataFrame:
    viewtime = F.date_format("viewtime", "yyyy-MM-dd HH:mm:ss.SSS").alias("viewtime")
    return _read(messages, _VIEW).select(_write_json("user_id", "page_id", viewtime, "user_region"))


def _pass_avro(messages: DataFrame) -> DataFrame:
    return _read(messages, _VIEW).select(to_avro(F.struct("*"), _AVRO).alias("value"))


def _filter_project(messages: DataFrame) -> DataFrame:
    views = _read(messages, "user_id LONG, page_id LONG, user_region STRING").where("page_id % 2 = 0")
    user_id = (F.col("user_id") * 10).alias("user_id")
    return views.select(_write_json("page_id", user_id, F.upper("user_region").alias("user_region")))


def _sum_by(key: str, type_: str) -> Callable[[DataFrame], DataFrame]:
    def build(messages: DataFrame) -> DataFrame:
        views = _read(messages, f"{key} {type_}, page_id LONG")
        summed = views.groupBy(key).agg(F.count("*").alias("pv"), F.sum("page_id").alias("pages"))
        return summed.select(F.to_json(F.struct(key)).alias("key"), _write_json(key, "pv", "pages"))

    return build


def _debezium(messages: DataFrame) -> DataFrame:
    """Each change as the row before it with sign -1 and the row after it with sign 1."""
    changes = _read(messages, f"before {_ORDER}, after {_ORDER}")
    signed = F.array(
        F.struct(F.col("before").alias("row"), F.lit(-1).alias("sign")),
        F.struct(F.col("after").alias("row"), F.lit(1).alias("sign")),
    )
    rows = changes.select(F.inline(signed)).where("row IS NOT NULL")
    totals = rows.groupBy(F.col("row.customer").alias("customer")).agg(
        F.sum("sign").alias("orders"), F.sum(F.col("sign") * F.col("row.amount")).alias("total")
    )
    return totals.select(
        F.to_json(F.struct("customer")).alias("key"),
        F.when(F.col("orders") > 0, _write_json("customer", "orders", "total")).alias("value"),
    )


JOBS: Final[Mapping[str, SparkJob]] = {
    "pass_json": SparkJob(_pass_json),
    "pass_avro": SparkJob(_pass_avro),
    "filter_project": SparkJob(_filter_project),
    "sum_9": SparkJob(_sum_by("user_region", "STRING"), has_state=True),
    "sum_1m": SparkJob(_sum_by("user_id", "LONG"), has_state=True),
    "debezium": SparkJob(_debezium, has_state=True),
}


def main() -> None:
    name, brokers, source, output, checkpoint, batch_rows = sys.argv[1:]
    job = JOBS[name]
    os.environ["JAVA_HOME"] = str(find_java().executable.parent.parent)
    builder: Any = SparkSession.builder
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    local = {
        "spark.jars": ",".join(map(str, [*jars(Part.SPARK), *spark_jars()])),
        "spark.local.dir": str(Path.cwd() / "spark"),
        "spark.ui.enabled": "false",
    }
    spark: SparkSession = builder.config(map=local).getOrCreate()
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", batch_rows)
        .load()
    )
    query = (
        job.build(messages)
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("topic", output)
        .option("checkpointLocation", checkpoint)
        .outputMode(_MODES[job.has_state])
        .start()
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        query.awaitTermination()
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
