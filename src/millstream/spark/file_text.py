"""Values in text files, written as the message formats write them: 2024-01-02 03:04:05.1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from millstream.connectors.local.file_formats import CsvFiles, JsonFiles, ParquetFiles, TimestampText
from millstream.spark.types import spark_type
from millstream.sql.types import BINARIES, TIMESTAMPS, DataType, TypeRoot

if TYPE_CHECKING:
    from pyspark.sql import Column

    from millstream.connectors.local.file_formats import FileFormat


def text_type(type_: DataType, format_: FileFormat) -> str:
    """The type that Spark reads a column as; CSV has no binary type."""
    is_base64 = isinstance(format_, CsvFiles) and type_.root in BINARIES
    return "STRING" if is_base64 else spark_type(type_)


def from_text(column: Column, type_: DataType, format_: FileFormat) -> Column:
    is_base64 = isinstance(format_, CsvFiles) and type_.root in BINARIES
    return F.unbase64(column) if is_base64 else column


def text_of(column: Column, type_: DataType, format_: FileFormat) -> Column:
    """What Spark writes; timestamps in text files become strings, at any depth."""
    if isinstance(format_, ParquetFiles):
        return column
    if isinstance(format_, CsvFiles) and type_.root in BINARIES:
        return F.base64(column)
    return _with_text_timestamps(column, type_, format_) if _holds_timestamp(type_) else column


def _with_text_timestamps(column: Column, type_: DataType, format_: FileFormat) -> Column:
    match type_.root:
        case TypeRoot.ROW:
            fields = (
                _with_text_timestamps(column[field.name], field.type, format_).alias(field.name)
                for field in type_.fields
            )
            return F.when(column.isNotNull(), F.struct(*fields))
        case TypeRoot.ARRAY:
            part = type_.element
            assert part is not None
            return F.transform(column, lambda each: _with_text_timestamps(each, part, format_))
        case TypeRoot.MAP:
            held = type_.element
            assert held is not None
            return F.transform_values(column, lambda _, value: _with_text_timestamps(value, held, format_))
        case root if root in TIMESTAMPS:
            return _timestamp_text(column, type_, format_)
        case _:
            return column


def _timestamp_text(column: Column, type_: DataType, format_: FileFormat) -> Column:
    text = column.cast("string")
    if isinstance(format_, JsonFiles) and format_.timestamps is TimestampText.ISO_8601:
        text = F.translate(text, " ", "T")
    return F.concat(text, F.lit("Z")) if type_.root is TypeRoot.TIMESTAMP_LTZ else text


def _holds_timestamp(type_: DataType) -> bool:
    parts = [field.type for field in type_.fields] + [p for p in (type_.key, type_.element) if p is not None]
    return type_.root in TIMESTAMPS or any(_holds_timestamp(part) for part in parts)
