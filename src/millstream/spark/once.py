"""A stream of one row that comes once: what VALUES, SELECT without FROM and finite generators start from.

It is a file of one line in the job's folder, so Spark's own checkpoint knows whether the row has been read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

_FOLDER: Final = "once"
_FILE: Final = "row.txt"
_PATTERN_CHARACTERS: Final = "\\*?[]{}"
_CHUNK: Final = 16_384
"""Rows that one array holds while they are spread over tasks."""


def one_row(spark: SparkSession, folder: Path) -> DataFrame:
    """One row without columns of meaning; `folder` belongs to the job and stays as long as its checkpoint."""
    place = folder / _FOLDER
    kept_text(place, _FILE, lambda: "once\n")
    return (
        spark.readStream.format("text")
        .schema("value STRING")
        .option("fileNameOnly", True)  # the job's folder may be moved, which a pattern does not mind
        .option("maxFileAge", "36500d")
        .load(pattern_of(place / _FILE))
    )


def pattern_of(file: Path) -> str:
    """A pattern that matches one file alone: Spark, given a plain path, would take it for a folder."""
    literal = literal_path(file)
    return f"{literal[:-1]}[{literal[-1]}]"


def literal_path(path: Path) -> str:
    """A path on this machine for Spark to read, which takes some characters for those of a pattern."""
    return "file:" + "".join(f"\\{each}" if each in _PATTERN_CHARACTERS else each for each in str(path.absolute()))


def kept_text(folder: Path, name: str, make: Callable[[], str]) -> str:
    """A text that is made when a job first starts, and is the same whenever it goes on."""
    file = folder / name
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f".{name}"  # hidden from a reader until it is whole
        unfinished.write_text(make(), encoding="utf-8")
        unfinished.rename(file)
    return file.read_text(encoding="utf-8")


def numbered_rows(spark: SparkSession, folder: Path, count: int, tasks: int | None = None) -> DataFrame:
    """`row` from 0 to below `count`, in order where they are few enough for one task; else over `tasks`."""
    chunks = -(-count // _CHUNK)
    starts = one_row(spark, folder).select(F.explode(F.sequence(F.lit(0), F.lit(chunks - 1))).alias("chunk"))
    if chunks > 1:
        starts = starts.repartition("chunk") if tasks is None else starts.repartition(tasks, "chunk")
    first = F.col("chunk").cast("bigint") * _CHUNK
    last = F.least(first + (_CHUNK - 1), F.lit(count - 1))
    return starts.select(F.explode(F.sequence(first, last)).alias("row"))
