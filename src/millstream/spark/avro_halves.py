"""Avro keys and values, which Spark decodes itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import KIND, RowKind
from millstream.formats.avro_schema import avro_schema
from millstream.formats.message_rows import BYTES, ROW
from millstream.plan.functions.spark_text import field_of
from millstream.spark.avro_values import has_invalid_time, needs_repair, repair
from millstream.spark.job_errors import undecodable_message
from millstream.spark.message_parts import part_of
from millstream.spark.types import quote_name, spark_type
from millstream.sql.types import BOOLEAN, DataType, Field, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

    from millstream.formats.avro_format import AvroFormat
    from millstream.spark.job_errors import TableHalf
    from millstream.spark.message_layout import MessageLayout

_IS_READ: Final = "__is_read"
NO_AVRO: Final = "Failed to deserialize Avro record."


def flink_schema(columns: tuple[tuple[str, DataType], ...], format_: AvroFormat) -> dict[str, Any]:
    """The Avro schema with which Spark reads and writes Flink's bytes: times and all timestamps in milliseconds."""
    schema: dict[str, Any] = _in_milliseconds(avro_schema(columns, legacy_timestamps=format_.legacy_timestamps))
    return schema


def _in_milliseconds(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_in_milliseconds(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    logical = str(schema.get("logicalType"))
    if logical == "time-millis":  # Spark would read it as its own TIME, while ours is a number
        return "int"
    changed = {key: _in_milliseconds(value) for key, value in schema.items()}
    return {**changed, "logicalType": logical.replace("micros", "millis")} if "logicalType" in schema else changed


def with_avro(
    messages: DataFrame, half: str, format_: AvroFormat, columns: tuple[tuple[str, DataType], ...]
) -> DataFrame:
    """The messages, with what Spark reads from the key or value in a column that the functions below need.

    In a projection of its own: Spark would decode the bytes again for each reference to them.
    """
    from pyspark.sql.avro.functions import from_avro

    written = flink_schema(columns, format_)
    # For bytes that it cannot decode, Spark returns a row of NULLs. A field with a default in the reader reveals them.
    is_read = {"name": _IS_READ, "type": "boolean", "default": True}
    read = {**written, "fields": [*written["fields"], is_read]}
    row = from_avro(F.col(half), json.dumps(written), {"mode": "PERMISSIVE", "avroSchema": json.dumps(read)})
    return messages.withColumn(_decoded(half), row)


def avro_struct(of: TableHalf, columns: tuple[tuple[str, DataType], ...]) -> Column:
    """The key or value as a struct; NULL if the message has none, and an error if it is not Avro.

    All columns are decoded, whether they are needed or not: the bytes of Avro contain no field names.
    """
    checked = F.when(_is_read(of.half, columns), _row(of.half, columns)).otherwise(undecodable_message(of, NO_AVRO))
    return F.when(F.col(of.half).isNotNull(), checked)


def avro_struct_with_bytes(half: str, columns: tuple[tuple[str, DataType], ...]) -> Column:
    """In the form that StructDecoder needs to set aside messages that are not Avro: their struct is NULL."""
    row = F.when(_is_read(half, columns), _row(half, columns))
    return F.when(F.col(half).isNotNull(), F.struct(row.alias(ROW), F.col(half).alias(BYTES)))


def _decoded(half: str) -> str:
    return f"__{half}_avro"


def _is_read(half: str, columns: tuple[tuple[str, DataType], ...]) -> Column:
    """Whether it is Avro, and a row of the table."""
    row = _decoded(half)
    wrong = has_invalid_time(row, _row_type(columns))
    is_avro = field_of(row, _IS_READ)
    return F.expr(is_avro if wrong is None else f"{is_avro} AND NOT coalesce({wrong}, false)")


def _row(half: str, columns: tuple[tuple[str, DataType], ...]) -> Column:
    """The struct with its declared type, in which every text is UTF-8 and every number fits."""
    fields = ", ".join(f"{quote_name(name)}: {spark_type(type_)}" for name, type_ in columns)
    fields += f"{', ' if fields else ''}{_IS_READ}: BOOLEAN"
    row, type_ = _decoded(half), _row_type((*columns, (_IS_READ, BOOLEAN)))
    wrong = needs_repair(row, type_)
    # Few rows need it, and to look for them is much cheaper than to build all rows again.
    text = row if wrong is None else f"CASE WHEN {wrong} THEN {repair(row, type_)} ELSE {row} END"
    return F.expr(text).cast(f"STRUCT<{fields}>")


def _row_type(columns: tuple[tuple[str, DataType], ...]) -> DataType:
    return DataType(TypeRoot.ROW, fields=tuple(Field(name, type_) for name, type_ in columns))


def rows_of_avro(
    messages: DataFrame, layout: MessageLayout, key: Column | None, value: Column, beside: Iterable[Column] = ()
) -> DataFrame:
    """The rows, if the whole message is Avro: one for each message, or none."""
    halves = messages.withColumn("__value_row", value)
    if key is not None:
        halves = halves.withColumn("__key_row", key).where("key IS NOT NULL")
    if not layout.upserts:
        halves = halves.where("value IS NOT NULL")
    columns = (_column(name, layout).alias(name) for name, _ in layout.columns)
    return halves.select(*columns, *_kind(layout), *beside)


def _column(name: str, layout: MessageLayout) -> Column:
    parts = {use.column.name: use for use in layout.message_parts}
    if name in parts:
        return F.expr(part_of(parts[name]))
    names_in_key = dict(zip(layout.key_columns_read, layout.key_names_read, strict=True))
    of_value = F.col(f"__value_row.{quote_name(name)}") if name in layout.value_columns_read else None
    of_key = F.col(f"__key_row.{quote_name(names_in_key[name])}") if name in names_in_key else None
    if of_value is None:
        assert of_key is not None
        return of_key
    return of_value if of_key is None else F.when(F.col("value").isNull(), of_key).otherwise(of_value)


def _kind(layout: MessageLayout) -> list[Column]:
    if not layout.upserts:
        return []
    kind = F.when(F.col("value").isNull(), F.lit(int(RowKind.DELETE))).otherwise(F.lit(int(RowKind.UPDATE_AFTER)))
    return [kind.cast("TINYINT").alias(KIND)]
