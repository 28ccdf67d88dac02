"""Topics as rows: Spark reads the bytes, the formats decode them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import KIND
from millstream.formats.avro_format import AvroFormat
from millstream.formats.codecs import decoder_of
from millstream.formats.decoded import DecodeError
from millstream.formats.message_rows import KEY, VALUE, MessageHalf, MessageRows, StructDecoder
from millstream.spark.avro_halves import avro_struct, rows_of_avro
from millstream.spark.casts import converted
from millstream.spark.failures import UndecodableMessageError
from millstream.spark.kafka_properties import reader_options
from millstream.spark.message_layout import MessageLayout
from millstream.spark.message_parts import needs_headers, part_of
from millstream.spark.splits import SPLIT, carried
from millstream.spark.types import quoted, spark_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from millstream.connectors.kafka_range import Offsets, ReadRange, Tally
    from millstream.connectors.kafka_tables import KafkaSource
    from millstream.formats.declarations import Format
    from millstream.formats.decoded import Decoder
    from millstream.plan.nodes import Scan
    from millstream.spark.splits import Splits
    from millstream.sql.types import DataType

_PARTITION: Final = "__partition"
_OFFSET: Final = "__offset"
_TOPIC: Final = "__topic"


def read_rows(
    spark: SparkSession,
    scan: Scan,
    source: KafkaSource,
    positions: ReadRange,
    max_batch_rows: int,
    *,
    splits: Splits | None = None,
) -> DataFrame:
    """`splits`: to tell beside each row."""
    layout = MessageLayout.of(scan, source)
    messages = _messages(spark, source, positions, max_batch_rows, with_headers=needs_headers(layout.message_parts))
    if isinstance(source.value_format, AvroFormat) and isinstance(source.key_format, AvroFormat | None):
        key = _half("key", source.key_format, layout.key_fields) if source.key_format is not None else None
        value = _half("value", source.value_format, layout.value_fields)
        return rows_of_avro(messages, layout, key, value, [] if splits is None else [splits.column()])
    return _decoded(messages, layout, positions.skipped, splits)


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
    """Spark's streams have no end of their own: what lies behind it is read and dropped, until the job sees its end."""
    pairs = ", ".join(f"'{topic}-{partition}', {end}L" for (topic, partition), end in ends.items())
    return F.expr(f"offset < try_element_at(map({pairs}), concat(topic, '-', partition))" if pairs else "false")


def _decoded(messages: DataFrame, layout: MessageLayout, skipped: Tally | None, splits: Splits | None) -> DataFrame:
    source = layout.source
    halves = [_half("value", source.value_format, layout.value_fields).alias(VALUE)]
    key = None
    if source.key_format is not None:
        halves.append(_half("key", source.key_format, layout.key_fields).alias(KEY))
        decoder = _decoder(source.key_format, layout.key_fields, layout.key_names_read)
        key = MessageHalf(decoder, layout.key_columns_read)
    # Every column that crosses to Python costs; the topic is known where there is only one.
    origin = [F.col("partition").alias(_PARTITION), F.col("offset").alias(_OFFSET)]
    only_topic = source.topics[0] if len(source.topics) == 1 else None
    if only_topic is None:
        origin.append(F.col("topic").alias(_TOPIC))
    rows = _message_rows(layout, key)
    parts = [F.expr(part_of(use)).alias(use.column.name) for use in layout.message_parts]
    schema = spark_schema(_crossing(layout)) + (f", {KIND} TINYINT" if layout.has_kinds else "")
    decode = decode_with(rows, only_topic, skipped)
    if splits is not None:
        decode = splits.beside(decode, _PARTITION, _TOPIC)
        schema += f", {SPLIT} {splits.column_type}"
    decoded = messages.select(*halves, *origin, *parts).mapInArrow(decode, schema.removeprefix(", "))
    return _as_declared(decoded, layout)


def _message_rows(layout: MessageLayout, key: MessageHalf | None) -> MessageRows:
    told = tuple((use.column.name, by_format) for use, by_format in layout.format_parts)
    decoder = _decoder(layout.source.value_format, layout.value_fields, layout.value_columns_read, told)
    value = MessageHalf(decoder, (*layout.value_columns_read, *(name for name, _ in told)))
    names = tuple(name for name, _ in layout.columns)
    return MessageRows(names, value, key, with_kinds=layout.has_kinds, upserts=layout.upserts)


def _half(half: str, format_: Format, fields: tuple[tuple[str, DataType], ...]) -> Column:
    return avro_struct(half, format_, fields) if isinstance(format_, AvroFormat) else F.col(half)


def _decoder(
    format_: Format,
    fields: tuple[tuple[str, DataType], ...],
    read: tuple[str, ...],
    told: tuple[tuple[str, str], ...] = (),
) -> Decoder:
    return StructDecoder(read) if isinstance(format_, AvroFormat) else decoder_of(format_, fields, read, told)


def _crossing(layout: MessageLayout) -> Iterator[tuple[str, DataType]]:
    """What comes out of Python: what a format tells of a change is still of the format's type."""
    told = {use.column.name: use.type for use, _ in layout.format_parts}
    return ((name, told.get(name, type_)) for name, type_ in layout.columns)


def _as_declared(decoded: DataFrame, layout: MessageLayout) -> DataFrame:
    told = {use.column.name: use for use, _ in layout.format_parts}
    if not told:
        return decoded
    columns = (
        F.expr(converted(quoted(name), told[name].type, type_)).alias(name) if name in told else F.col(quoted(name))
        for name, type_ in layout.columns
    )
    return decoded.select(*columns, KIND, *carried(decoded))


def decode_with(
    rows: MessageRows, only_topic: str | None = None, skipped: Tally | None = None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            try:
                table, passed_over = rows.read(batch)
            except DecodeError as error:
                place = batch.slice(error.index, 1).to_pylist()[0]
                topic = only_topic or place[_TOPIC]
                raise UndecodableMessageError(topic, place[_PARTITION], place[_OFFSET], error.text) from None
            if passed_over and skipped is not None:
                skipped.add(passed_over)
            yield from table.to_batches()

    return decode
