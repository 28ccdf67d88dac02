"""A stream of a single row, from which VALUES, SELECT without FROM and bounded generators start.

It is a file of one line in the job's folder, so Spark's own checkpoint records whether the row has been read.
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
"""The number of rows in one array while they are spread over tasks."""


def one_row(spark: SparkSession, folder: Path) -> DataFrame:
    """A row without meaningful columns; `folder` belongs to the job and exists as long as its checkpoint."""
    file = folder / _FOLDER / _FILE
    if not file.exists():  # Spark's log records whether it was read, by the file's name alone
        write_text(file, _LINE)
    elif file.read_bytes() != _LINE.encode():
        raise damage_error(file, "Its content has changed.")
    return (
        spark.readStream.format("text")
        .schema("value STRING")
        .option("fileNameOnly", True)  # the job's folder may be moved, which does not matter to a pattern
        .option("maxFileAge", "36500d")
        .load(pattern_of(file))
    )


def pattern_of(file: Path) -> str:
    """A pattern that matches only this file: Spark would treat a plain path as a folder."""
    literal = literal_path(file)
    return f"{literal[:-1]}[{literal[-1]}]"


def literal_path(path: Path) -> str:
    """A local path with the characters escaped that Spark would interpret as a pattern."""
    return "file:" + "".join(f"\\{each}" if each in _PATTERN_CHARACTERS else each for each in str(path.absolute()))


def keep_value(folder: Path, name: JobFile, pattern: str, make: Callable[[], str]) -> str:
    """A value that is written when a job first starts and never changes; `pattern` matches its file."""

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
    """`row` from 0 to below `count`; in order if one task can hold them, otherwise spread over `tasks`."""
    chunks = -(-count // _CHUNK)
    starts = one_row(spark, folder).select(F.explode(F.sequence(F.lit(0), F.lit(chunks - 1))).alias("chunk"))
    if chunks > 1:
        starts = starts.repartition("chunk") if tasks is None else starts.repartition(tasks, "chunk")
    first = F.col("chunk").cast("bigint") * _CHUNK
    last = F.least(first + (_CHUNK - 1), F.lit(count - 1))
    return starts.select(F.explode(F.sequence(first, last)).alias("row"))
