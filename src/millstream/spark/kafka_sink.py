"""Rows as messages: key and value encoded, a retraction being a key without a value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import INSERT_ONLY, KIND, RowKind
from millstream.formats.avro_schema import avro_schema
from millstream.formats.codecs import encoder_of
from millstream.formats.declarations import AvroFormat, ConfluentAvroFormat
from millstream.spark.changelog import is_retraction
from millstream.spark.failures import null_in_key
from millstream.spark.types import quoted, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import Column, DataFrame

    from millstream.connectors.kafka_tables import KafkaSink
    from millstream.formats.declarations import Format
    from millstream.formats.decoded import Encoder
    from millstream.sql.statements import PhysicalColumn

_MESSAGE: str = "key BINARY, value BINARY"


def encode_messages(rows: DataFrame, sink: KafkaSink) -> DataFrame:
    """`key` and `value` of each message; a row that takes something back has no value, unless the format tells it."""
    if sink.value_format.changelog == INSERT_ONLY:
        value = F.when(~is_retraction(rows), _row_of(sink.value_columns, sink.value_format, sink))
    else:
        kind = F.col(KIND) if KIND in rows.columns else F.lit(int(RowKind.INSERT))
        value = _row_of(sink.value_columns, sink.value_format, sink, kind.cast("tinyint").alias(KIND))
    parts = {"value": (value, sink.value_format, sink.value_columns)}
    if sink.key_format is not None:
        key = _row_of(sink.key_columns, sink.key_format, sink)
        parts["key"] = (key, sink.key_format, sink.key_columns)
    columns: list[Column] = []
    encoders: dict[str, Encoder] = {}
    for name in ("key", "value"):
        if name not in parts:
            columns.append(F.lit(None).cast("binary").alias(name))
            continue
        row, format_, fields = parts[name]
        if isinstance(format_, ConfluentAvroFormat):
            format_ = format_.with_default_subject(f"{sink.topic}-{name}")
        column, encoder = _encoded(row, format_, fields)
        columns.append(column.alias(name))
        if encoder is not None:
            encoders[name] = encoder
    prepared = rows.select(*columns)
    return prepared.mapInArrow(encode_with(encoders), _MESSAGE) if encoders else prepared


def encode_with(
    encoders: dict[str, Encoder],
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def encode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [
                _encode_rows(encoders[name], column) if name in encoders else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    return encode


def _encode_rows(encoder: Encoder, rows: pa.StructArray) -> pa.Array:
    present = rows.is_valid()
    encoded = encoder.encode(pa.Table.from_struct_array(rows.drop_null()))
    if len(encoded) == len(rows):
        return encoded
    places = pc.subtract(pc.cumulative_sum(present.cast(pa.int64())), 1)
    return encoded.take(pc.if_else(present, places, None))


def _encoded(row: Column, format_: Format, columns: tuple[PhysicalColumn, ...]) -> tuple[Column, Encoder | None]:
    """The column to hand on, and what is left for Python to encode."""
    named = tuple((column.name, column.type) for column in columns)
    if not isinstance(format_, AvroFormat):
        return row, encoder_of(format_, named)
    from pyspark.sql.avro.functions import to_avro

    schema = avro_schema(named, legacy_timestamps=format_.options.legacy_timestamps)
    return to_avro(row, json.dumps(schema)), None


def _row_of(columns: tuple[PhysicalColumn, ...], format_: Format, sink: KafkaSink, *more: Column) -> Column:
    return F.struct(*(_checked(column, format_, sink).alias(column.name) for column in columns), *more)


def _checked(column: PhysicalColumn, format_: Format, sink: KafkaSink) -> Column:
    """The column as the format wants it; where it is NOT NULL, a NULL fails the job."""
    value = F.col(quoted(column.name))
    if isinstance(format_, AvroFormat) and format_.options.legacy_timestamps:
        # Avro's timestamp-millis is the wall clock as if it were UTC, which is our session's zone.
        value = value.cast(spark_type(column.type).replace("TIMESTAMP_NTZ", "TIMESTAMP_LTZ"))
    if column.type.nullable:
        return value
    return F.coalesce(value, F.raise_error(F.lit(null_in_key(column.name, sink.table.name))))
