"""Generated rows. Each value follows from its row's number alone, so a batch that is run again gives the same rows."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from millstream.spark.generated_values import Moment, value_of
from millstream.spark.once import number_rows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from millstream.connectors.local.tables import DatagenSource

_BACKLOG: Final = "INTERVAL '10' SECOND"
"""Rows that were due longer ago, while the job was away or busy, are not made up for: nobody waits for them."""


def read_datagen(
    spark: SparkSession, source: DatagenSource, columns: Iterable[str], folder: Path, tasks: int | None = None
) -> DataFrame:
    """The named columns of a generated table, made in so many tasks; `folder` belongs to the job."""
    if source.number_of_rows is None:
        rows = _endless(spark, source.rows_per_second, tasks)
    else:
        rows = _finite(number_rows(spark, folder, source.number_of_rows, tasks), source)
    seed = F.lit(zlib.crc32(source.table.name.encode()))
    generators = {generator.path: generator for generator in source.generators}
    moment = Moment(F.col("row"), F.col("time"), seed)
    return rows.select(*(value_of(generators[name], moment).alias(name) for name in columns))


def _endless(spark: SparkSession, rows_per_second: int, tasks: int | None) -> DataFrame:
    reader = spark.readStream.format("rate").option("rowsPerSecond", rows_per_second)
    rows = (reader if tasks is None else reader.option("numPartitions", tasks)).load()
    return rows.where(f"timestamp >= current_timestamp() - {_BACKLOG}").select(
        F.col("value").alias("row"), F.col("timestamp").alias("time")
    )


def _finite(rows: DataFrame, source: DatagenSource) -> DataFrame:
    """All rows at once, with the times they would have if the last had been made just now."""
    assert source.number_of_rows is not None
    age_micros = F.expr(f"(({source.number_of_rows - 1}L - row) * 1000000L) div {source.rows_per_second}L")
    # The time of a batch is in its checkpoint: a batch that is run again has the same.
    now = F.unix_micros(F.current_timestamp())
    return rows.select("row", F.timestamp_micros(now - age_micros).alias("time"))
