"""A topic as rows: Spark reads the bytes, the format decodes them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import INSERT_ONLY, KIND
from millstream.formats.avro_format import AvroFormat
from millstream.formats.avro_schema import avro_schema
from millstream.formats.codecs import decoder_of
from millstream.formats.decoded import DecodeError
from millstream.spark.failures import UndecodableMessageError, undecodable_message
from millstream.spark.kafka_properties import reader_options
from millstream.spark.types import quoted, spark_schema, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from millstream.connectors.kafka_tables import KafkaSource
    from millstream.formats.decoded import Decoder
    from millstream.plan.nodes import Scan
    from millstream.sql.types import DataType


_IS_READ: Final = "__is_read"


def read_rows(
    spark: SparkSession, scan: Scan, source: KafkaSource, start_offsets: str, max_batch_rows: int
) -> DataFrame:
    messages = (
        spark.readStream.format("kafka")
        .options(**reader_options(source.properties))
        .option("subscribe", ",".join(source.topics))
        .option("startingOffsets", start_offsets)
        .option("maxOffsetsPerTrigger", max_batch_rows)
        .load()
    )
    columns = tuple((column.name, column.type) for column in scan.columns if column.type is not None)
    all_columns = tuple((column.name, column.type) for column in source.table.physical_columns)
    needed = tuple(name for name, _ in columns)
    if isinstance(source.value_format, AvroFormat):
        # Avro has no field names in its bytes: all columns are read, the needed ones kept.
        return _from_avro(messages, source.value_format, all_columns, needed)
    # Every column that crosses to Python costs; the topic is known where there is only one.
    origin = ["partition", "offset"] if len(source.topics) == 1 else ["partition", "offset", "topic"]
    changes = source.value_format.changelog != INSERT_ONLY
    decode = decode_with(decoder_of(source.value_format, all_columns, needed), source.topics[0], with_kinds=changes)
    schema = spark_schema(columns) + (f", {KIND} TINYINT" if changes else "")
    return messages.select("value", *origin).mapInArrow(decode, schema)


def decode_with(
    decoder: Decoder, first_topic: str, *, with_kinds: bool = False
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            try:
                decoded = decoder.decode(batch.column(0))
                yield from (decoded.with_kinds() if with_kinds else decoded.table).to_batches()
            except DecodeError as error:
                place = batch.slice(error.index, 1).to_pylist()[0]
                topic = place.get("topic", first_topic)
                raise UndecodableMessageError(topic, place["partition"], place["offset"], error.text) from None

    return decode


def _from_avro(
    messages: DataFrame, format_: AvroFormat, columns: tuple[tuple[str, DataType], ...], needed: tuple[str, ...]
) -> DataFrame:
    from pyspark.sql.avro.functions import from_avro

    written = avro_schema(columns, legacy_timestamps=format_.options.legacy_timestamps)
    # Spark gives a row of NULLs for what it cannot read: a field that only a reader fills tells such rows.
    is_read = {"name": _IS_READ, "type": "boolean", "default": True}
    read = {**written, "fields": [*written["fields"], is_read]}
    row = from_avro(F.col("value"), json.dumps(written), {"mode": "PERMISSIVE", "avroSchema": json.dumps(read)})
    failure = undecodable_message("Failed to deserialize Avro record.")
    decoded = (
        messages.where("value IS NOT NULL")
        .select(row.alias("row"), "topic", "partition", "offset")
        .select(F.when(F.col(f"row.{_IS_READ}"), F.col("row")).otherwise(failure).alias("row"))
    )
    types = dict(columns)
    return decoded.select(*(F.col(f"row.{quoted(name)}").cast(spark_type(types[name])).alias(name) for name in needed))
