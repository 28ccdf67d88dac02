"""A stream of one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def one_row(spark: SparkSession, folder: Path) -> DataFrame:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "row").write_text("\n")
    return spark.readStream.text(str(folder))
