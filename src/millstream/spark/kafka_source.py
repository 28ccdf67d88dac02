"""Reads topics as rows: Spark reads the bytes, the formats decode them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import KIND
from millstream.connectors.kafka.spark_options import reader_options
from millstream.formats.avro_format import AvroFormat
from millstream.formats.codecs import decoder_of
from millstream.formats.message_rows import KEY, VALUE, MessageHalf, MessageRows, StructDecoder
from millstream.spark.avro_halves import NO_AVRO, avro_struct, avro_struct_with_bytes, rows_of_avro, with_avro
from millstream.spark.casts import convert
from millstream.spark.job_errors import TableHalf
from millstream.spark.message_decoding import HEADERS, OFFSET, PARTITION, TIMESTAMP, TOPIC, DecodeStep
from millstream.spark.message_layout import MessageLayout
from millstream.spark.message_parts import needs_headers, part_of
from millstream.spark.python_stage import PythonStage
from millstream.spark.splits import SPLIT, split_columns
from millstream.spark.types import quote_name, spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column, DataFrame, SparkSession

    from millstream.connectors.kafka.read_range import MessageCounters, Offsets, ReadRange
    from millstream.connectors.kafka.tables import KafkaSource
    from millstream.formats.decoded import Decoder
    from millstream.formats.registry import Format
    from millstream.plan.operators.scan import Scan
    from millstream.spark.python_stage import Step
    from millstream.spark.splits import Splits
    from millstream.sql.types import DataType


def read_rows(
    spark: SparkSession,
    scan: Scan,
    source: KafkaSource,
    positions: ReadRange,
    max_batch_rows: int,
    *,
    splits: Splits | None = None,
) -> DataFrame | PythonStage:
    """`splits` adds the origin of each row as a column."""
    layout = MessageLayout.of(scan, source)
    with_headers = source.dead_letters is not None or needs_headers(layout.message_parts)
    messages = _messages(spark, source, positions, max_batch_rows, with_headers=with_headers)
    for half, format_ in (("key", source.key_format), ("value", source.value_format)):
        if isinstance(format_, AvroFormat):
            messages = with_avro(messages, half, format_, _fields(half, layout))
    if source.decodes_in_spark:
        key = _half("key", source.key_format, layout) if source.key_format is not None else None
        beside = [] if splits is None else [splits.column()]
        return rows_of_avro(messages, layout, key, _half("value", source.value_format, layout), beside)
    return _decode(messages, layout, positions.counters, splits)


def _messages(
    spark: SparkSession, source: KafkaSource, positions: ReadRange, max_batch_rows: int, *, with_headers: bool
) -> DataFrame:
    whole_name = None if source.topic_pattern is None else f"^(?:{source.topic_pattern})$"
    reader = (
        spark.readStream.format("kafka")
        .options(**reader_options(source.properties))
        .option("subscribe" if whole_name is None else "subscribePattern", whole_name or ",".join(source.topics))
        .option("startingOffsets", positions.start)
        .option("maxOffsetsPerTrigger", source.max_batch_records or max_batch_rows)
        .option("failOnDataLoss", source.fails_on_data_loss)
        .option("includeHeaders", with_headers)
    )
    messages = reader.load()
    return messages if positions.ends is None else messages.where(_is_before(positions.ends))


def _is_before(ends: Offsets) -> Column:
    """Spark's streams have no end: later messages are read and dropped until the job notices that it is at its end."""
    pairs = ", ".join(f"'{topic}-{partition}', {end}L" for (topic, partition), end in ends.items())
    return F.expr(f"offset < try_element_at(map({pairs}), concat(topic, '-', partition))" if pairs else "false")


def _decode(
    messages: DataFrame, layout: MessageLayout, counters: MessageCounters | None, splits: Splits | None
) -> DataFrame | PythonStage:
    source = layout.source
    halves = [_half("value", source.value_format, layout).alias(VALUE)]
    key = None
    if source.key_format is not None or source.dead_letters is not None:
        halves.append(_half("key", source.key_format, layout).alias(KEY))
    if source.key_format is not None:
        decoder = _decoder(source.key_format, layout.key_fields, layout.key_names_read)
        key = MessageHalf(decoder, layout.key_columns_read)
    # Every column that is passed to Python has a cost; with a single topic, its name is known.
    origin = [F.col("partition").alias(PARTITION), F.col("offset").alias(OFFSET)]
    only_topic = source.topics[0] if len(source.topics) == 1 else None
    if only_topic is None:
        origin.append(F.col("topic").alias(TOPIC))
    if source.dead_letters is not None:
        # Spark measures an Arrow batch after each row, and visits all NULL lists to do so.
        headers = F.coalesce("headers", F.array()).alias(HEADERS)
        origin += [F.unix_millis("timestamp").alias(TIMESTAMP), headers]
    formats = {"value": source.value_format.name} | ({"key": source.key_format.name} if source.key_format else {})
    rows = _message_rows(layout, key)
    step: Step = DecodeStep(rows, source.table.name, formats, only_topic, source.dead_letters, counters)
    parts = [F.expr(part_of(use)).alias(use.column.name) for use in layout.message_parts]
    schema = spark_schema(_decoded_columns(layout)) + (f", {KIND} TINYINT" if layout.has_kinds else "")
    if splits is not None:
        step = splits.beside(step, PARTITION, TOPIC)
        schema += f", {SPLIT} {splits.column_type}"
    decoded = PythonStage(messages.select(*halves, *origin, *parts), schema.removeprefix(", "), step)
    if layout.format_parts:
        return _select_declared(decoded.to_frame(), layout)
    return decoded if schema else decoded.to_frame()  # Arrow does not count rows without columns


def _message_rows(layout: MessageLayout, key: MessageHalf | None) -> MessageRows:
    metadata = tuple((use.column.name, by_format) for use, by_format in layout.format_parts)
    decoder = _decoder(layout.source.value_format, layout.value_fields, layout.value_columns_read, metadata)
    value = MessageHalf(decoder, (*layout.value_columns_read, *(name for name, _ in metadata)))
    names = tuple(name for name, _ in layout.columns)
    sets_aside = layout.source.dead_letters is not None
    return MessageRows(names, value, key, with_kinds=layout.has_kinds, upserts=layout.upserts, sets_aside=sets_aside)


def _half(half: str, format_: Format | None, layout: MessageLayout) -> Column:
    if not isinstance(format_, AvroFormat):
        return F.col(half)
    if layout.source.dead_letters is not None:
        return avro_struct_with_bytes(half, _fields(half, layout))
    return avro_struct(TableHalf(layout.source.table.name, half, format_.name), _fields(half, layout))


def _fields(half: str, layout: MessageLayout) -> tuple[tuple[str, DataType], ...]:
    return layout.key_fields if half == "key" else layout.value_fields


def _decoder(
    format_: Format,
    fields: tuple[tuple[str, DataType], ...],
    read: tuple[str, ...],
    metadata: tuple[tuple[str, str], ...] = (),
) -> Decoder:
    return (
        StructDecoder(read, NO_AVRO) if isinstance(format_, AvroFormat) else decoder_of(format_, fields, read, metadata)
    )


def _decoded_columns(layout: MessageLayout) -> Iterator[tuple[str, DataType]]:
    """The columns that Python returns: metadata from a format still has the format's type."""
    metadata = {use.column.name: use.type for use, _ in layout.format_parts}
    return ((name, metadata.get(name, type_)) for name, type_ in layout.columns)


def _select_declared(decoded: DataFrame, layout: MessageLayout) -> DataFrame:
    metadata = {use.column.name: use for use, _ in layout.format_parts}
    columns = (
        F.expr(convert(quote_name(name), metadata[name].type, type_)).alias(name)
        if name in metadata
        else F.col(quote_name(name))
        for name, type_ in layout.columns
    )
    return decoded.select(*columns, KIND, *split_columns(decoded))
