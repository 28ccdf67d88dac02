"""Files as a stream of rows, and rows as files."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from millstream.connectors.local.file_formats import CsvFiles, JsonFiles, ParquetFiles
from millstream.connectors.local.filesystem import METADATA
from millstream.connectors.local.paths import local_path
from millstream.durable_files import JobFile
from millstream.spark.file_folder import FileFolder
from millstream.spark.file_text import from_text, text_of, text_type
from millstream.spark.once import keep_value, literal_path, pattern_of
from millstream.spark.splits import file_split
from millstream.spark.types import quote_name, spark_type
from millstream.sql.statements import MetadataColumn, PhysicalColumn

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.readwriter import DataFrameReader
    from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

    from millstream.connectors.local.file_formats import FileFormat
    from millstream.connectors.local.tables import FilesystemSink, FilesystemSource

_UNREAD: Final = "__unread"
"""The column in which Spark puts a line that it could not parse completely."""
_NOTHING: Final = "\u0000"
_ANY_AGE: Final = "36500d"


def read_files(
    spark: SparkSession, source: FilesystemSource, columns: Iterable[str], folder: Path, *, with_splits: bool = False
) -> DataFrame:
    """The given columns of all files; for a bounded source, of those that exist when its job first starts."""
    rows = _load(spark.readStream.option("maxFileAge", _ANY_AGE), source)
    if source.is_bounded:
        first_start = int(keep_value(folder, JobFile.FIRST_START, r"\d+", lambda: str(time.time_ns() // 1_000_000)))
        rows = rows.where(F.unix_millis("_metadata.file_modification_time") <= first_start)
    splits = [file_split(has_row_numbers=isinstance(source.format, ParquetFiles))] if with_splits else []
    return rows.select(*_read_columns(source, columns), *splits)


def read_files_now(spark: SparkSession, source: FilesystemSource, columns: Iterable[str]) -> DataFrame:
    """The given columns of the files that there are, not as a stream."""
    return _load(spark.read, source).select(*_read_columns(source, columns))


def _load(reader: DataFrameReader | DataStreamReader, source: FilesystemSource) -> DataFrame:
    table, format_ = source.table, source.format
    skips_errors = not isinstance(format_, ParquetFiles) and format_.ignore_parse_errors
    schema = [f"{quote_name(column.name)} {text_type(column.type, format_)}" for column in table.physical_columns]
    rows = (
        reader.format(format_.name)
        .schema(", ".join([*schema, f"{_UNREAD} STRING"] if skips_errors else schema))
        .options(**_reader_options(format_))
        .options(**_folder_options(source))
        .load(_read_location(source.path))
    )
    if not skips_errors:
        return rows
    values = [F.col(quote_name(c.name)) for c in table.physical_columns if c.name not in table.partitioned_by]
    return rows.where(F.col(_UNREAD).isNull() | F.coalesce(*(v.cast("string") for v in values)).isNotNull())


def _read_columns(source: FilesystemSource, names: Iterable[str]) -> list[Column]:
    declared = {column.name: column for column in source.table.columns}
    return [_read_column(declared[name], source.format).alias(name) for name in names]


def write_files(rows: DataFrame, sink: FilesystemSink, folder: Path) -> DataStreamWriter:
    """Adds files to a folder, batch by batch.

    Spark's own file sink keeps its log beside the files, and would skip the first batches of a second job.
    """
    job = keep_value(folder, JobFile.FILE_NAMES, "[0-9a-f]{12}", lambda: uuid.uuid4().hex[:12])
    target = FileFolder(rows.sparkSession, _location(sink.path), job)
    columns = [
        text_of(F.col(quote_name(c.name)), c.type, sink.format).alias(c.name) for c in sink.table.physical_columns
    ]

    def write(batch: DataFrame, batch_id: int) -> None:
        staging = target.staging(batch_id)
        (
            batch.select(*columns)
            .write.format(sink.format.name)
            .options(**_writer_options(sink.format))
            .partitionBy(*sink.table.partitioned_by)
            .mode("overwrite")
            .option("partitionOverwriteMode", "static")  # files of an earlier attempt at this batch are removed
            .save(staging)
        )
        target.publish(batch_id)

    return rows.writeStream.foreachBatch(write)


def _read_column(column: object, format_: FileFormat) -> Column:
    match column:
        case MetadataColumn():
            return F.col(f"_metadata.{METADATA[column.key]}").cast(spark_type(column.type))
        case PhysicalColumn():
            return from_text(F.col(quote_name(column.name)), column.type, format_)
    raise AssertionError(f"{column} is computed from others, not read")


def _location(path: str) -> str:
    local = local_path(path)
    return path if local is None else f"file:{local}"


def _read_location(path: str) -> str:
    local = local_path(path)
    if local is None:
        return path
    return pattern_of(local) if local.is_file() else literal_path(local)


def _folder_options(source: FilesystemSource) -> dict[str, str | bool]:
    """Subfolders are read too; their names are the values of partition columns."""
    if not source.table.partitioned_by:
        return {"recursiveFileLookup": True}
    return {"basePath": _location(source.path)}


def _reader_options(format_: FileFormat) -> dict[str, str | bool]:
    match format_:
        case CsvFiles():
            options = {**_csv_options(format_), **({"comment": "#"} if format_.allow_comments else {})}
            return {**options, **_error_options(ignore=format_.ignore_parse_errors)}
        case JsonFiles():
            return _error_options(ignore=format_.ignore_parse_errors)
        case ParquetFiles():
            return {}


def _error_options(*, ignore: bool) -> dict[str, str | bool]:
    return {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _UNREAD} if ignore else {"mode": "FAILFAST"}


def _writer_options(format_: FileFormat) -> dict[str, str | bool]:
    match format_:
        case CsvFiles():
            return _csv_options(format_)
        case JsonFiles():
            return {"ignoreNullFields": format_.ignore_null_fields}
        case ParquetFiles():
            return {"compression": str(format_.compression)}


def _csv_options(format_: CsvFiles) -> dict[str, str | bool]:
    quote = _NOTHING if format_.quote is None else format_.quote
    return {
        "sep": format_.delimiter,
        "quote": quote,
        "escape": quote if format_.escape is None else format_.escape,
        "nullValue": format_.null_literal or "",
    }
