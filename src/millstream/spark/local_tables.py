"""Reads and writes tables without a broker as streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.connectors.local.tables import (
    BlackholeSink,
    DatagenSource,
    FilesystemSink,
    FilesystemSource,
    PrintSink,
)
from millstream.spark.datagen import read_datagen
from millstream.spark.files import read_files, write_files
from millstream.spark.print_sink import print_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from millstream.connectors.tables import Sink, Source


def read_local(
    spark: SparkSession, source: Source, columns: Iterable[str], folder: Path, pinned_tasks: int | None = None
) -> DataFrame:
    """The given columns of a table; `folder` belongs to this source of the job alone.

    With `pinned_tasks`, a batch that is repeated on another number of cores passes the same rows to tasks and kernels.
    """
    match source:
        case DatagenSource():
            return read_datagen(spark, source, columns, folder, pinned_tasks)
        case FilesystemSource():
            return read_files(spark, source, columns, folder, with_splits=pinned_tasks is not None)
        case _:
            raise NotImplementedError(f"tables of connector '{source.connector}' are not read here")


def write_local(rows: DataFrame, sink: Sink, folder: Path, emit: Callable[[list[str]], None]) -> DataStreamWriter:
    """A writer that still needs a checkpoint, an output mode and a trigger; `emit` receives lines of a print table."""
    match sink:
        case PrintSink():
            return print_rows(rows, sink, emit)
        case BlackholeSink():
            return rows.writeStream.format("noop")
        case FilesystemSink():
            return write_files(rows, sink, folder)
        case _:
            raise NotImplementedError(f"tables of connector '{sink.connector}' are not written here")
