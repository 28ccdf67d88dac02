"""Made-up rows. Each value follows from its row's number alone, so a batch that is run again gives the same rows."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from millstream.spark.generated_values import Moment, value_of
from millstream.spark.once import numbered_rows

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from millstream.connectors.local_tables import DatagenSource

_BACKLOG: Final = "INTERVAL '10' SECOND"
"""Rows that were due longer ago, while the job was away or busy, are not made up for: nobody waits for them."""


def read_datagen(spark: SparkSession, source: DatagenSource, columns: Iterable[str], folder: Path) -> DataFrame:
    """The named columns of a generated table; `folder` belongs to the job."""
    if source.number_of_rows is None:
        rows = _endless(spark, source.rows_per_second)
    else:
        rows = _finite(spark, folder, source.number_of_rows, source.rows_per_second)
    seed = F.lit(zlib.crc32(source.table.name.encode()))
    generators = {generator.path: generator for generator in source.generators}
    moment = Moment(F.col("row"), F.col("time"), seed)
    return rows.select(*(value_of(generators[name], moment).alias(name) for name in columns))


def _endless(spark: SparkSession, rows_per_second: int) -> DataFrame:
    rows = spark.readStream.format("rate").option("rowsPerSecond", rows_per_second).load()
    return rows.where(f"timestamp >= current_timestamp() - {_BACKLOG}").select(
        F.col("value").alias("row"), F.col("timestamp").alias("time")
    )


def _finite(spark: SparkSession, folder: Path, count: int, rows_per_second: int) -> DataFrame:
    """All rows at once, with the times they would have if the last had been made just now."""
    age_micros = F.expr(f"(({count - 1}L - row) * 1000000L) div {rows_per_second}L")
    # The time of a batch is in its checkpoint: a batch that is run again has the same.
    now = F.unix_micros(F.current_timestamp())
    return numbered_rows(spark, folder, count).select("row", F.timestamp_micros(now - age_micros).alias("time"))
