"""A stream of one row that comes once: what VALUES, SELECT without FROM and finite generators start from.

It is a file of one line in the job's folder, so Spark's own checkpoint knows whether the row has been read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from millstream.durable_files import damage_error, read_json, write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from millstream.durable_files import JobFile

_FOLDER: Final = "once"
_FILE: Final = "row.txt"
_LINE: Final = "once\n"
_PATTERN_CHARACTERS: Final = "\\*?[]{}"
_CHUNK: Final = 16_384
"""Rows that one array holds while they are spread over tasks."""


def one_row(spark: SparkSession, folder: Path) -> DataFrame:
    """One row without columns of meaning; `folder` belongs to the job and stays as long as its checkpoint."""
    file = folder / _FOLDER / _FILE
    if not file.exists():  # whether it was read stands in Spark's log, by its name alone
        write_text(file, _LINE)
    elif file.read_bytes() != _LINE.encode():
        raise damage_error(file, "It is not the line that it was.")
    return (
        spark.readStream.format("text")
        .schema("value STRING")
        .option("fileNameOnly", True)  # the job's folder may be moved, which a pattern does not mind
        .option("maxFileAge", "36500d")
        .load(pattern_of(file))
    )


def pattern_of(file: Path) -> str:
    """A pattern that matches one file alone: Spark, given a plain path, would take it for a folder."""
    literal = literal_path(file)
    return f"{literal[:-1]}[{literal[-1]}]"


def literal_path(path: Path) -> str:
    """A path on this machine for Spark to read, which takes some characters for those of a pattern."""
    return "file:" + "".join(f"\\{each}" if each in _PATTERN_CHARACTERS else each for each in str(path.absolute()))


def keep_value(folder: Path, name: JobFile, pattern: str, make: Callable[[], str]) -> str:
    """A value that is made when a job first starts, and is the same whenever it goes on; `pattern` matches it."""

    def parse(content: str) -> str:
        if not re.fullmatch(pattern, content):
            raise ValueError(f"{content} does not match {pattern}")
        return content

    file = folder / name
    kept = read_json(file, parse, parse_layout_2=str)
    if kept is None:
        kept = make()
        write_json(file, kept)
    return kept


def number_rows(spark: SparkSession, folder: Path, count: int, tasks: int | None = None) -> DataFrame:
    """`row` from 0 to below `count`, in order where they are few enough for one task; else over `tasks`."""
    chunks = -(-count // _CHUNK)
    starts = one_row(spark, folder).select(F.explode(F.sequence(F.lit(0), F.lit(chunks - 1))).alias("chunk"))
    if chunks > 1:
        starts = starts.repartition("chunk") if tasks is None else starts.repartition(tasks, "chunk")
    first = F.col("chunk").cast("bigint") * _CHUNK
    last = F.least(first + (_CHUNK - 1), F.lit(count - 1))
    return starts.select(F.explode(F.sequence(first, last)).alias("row"))
