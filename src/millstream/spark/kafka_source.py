"""Reads topics as rows: workers read the bytes, the formats decode them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type

from millstream.catalog.options import is_java_only, python_regex
from millstream.changelog import KIND
from millstream.connectors.kafka.metadata import is_read_as_declared
from millstream.connectors.kafka.spark_options import reader_options
from millstream.formats.avro_format import AvroFormat
from millstream.formats.codecs import decoder_of
from millstream.formats.message_rows import KEY, VALUE, MessageHalf, MessageRows, StructDecoder
from millstream.librdkafka import partition_consumer as consumer
from millstream.reading.offset_plan import flatten
from millstream.reading.read_request import ReadRequest
from millstream.spark.avro_halves import NO_AVRO, avro_struct, avro_struct_with_bytes, rows_of_avro, with_avro
from millstream.spark.casts import convert
from millstream.spark.job_errors import TableHalf
from millstream.spark.kafka_stream import MessageStream
from millstream.spark.message_columns import MessageColumn, arrange, metadata_column, sources_of
from millstream.spark.message_decoding import HEADERS, OFFSET, PARTITION, TIMESTAMP, TOPIC, DecodeStep
from millstream.spark.message_layout import MessageLayout
from millstream.spark.message_parts import needs_headers, part_of
from millstream.spark.python_stage import PythonStage, to_struct
from millstream.spark.splits import SPLIT, split_columns
from millstream.spark.types import quote_name, spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import Column, SparkSession

    from millstream.connectors.kafka.read_range import MessageCounters, ReadRange
    from millstream.connectors.kafka.tables import KafkaSource
    from millstream.connectors.metadata import MetadataUse
    from millstream.formats.decoded import Decoder
    from millstream.formats.registry import Format
    from millstream.plan.operators.scan import Scan
    from millstream.spark.python_stage import Step
    from millstream.spark.splits import Splits
    from millstream.sql.types import DataType

_EARLIEST: Final = "earliest"
_OF_SPARK: Final = (
    ("key", "BINARY", consumer.KEY, None),
    ("value", "BINARY", consumer.VALUE, None),
    ("topic", "STRING", consumer.TOPIC, None),
    ("partition", "INT", consumer.PARTITION, None),
    ("offset", "BIGINT", consumer.OFFSET, None),
    ("timestamp", "TIMESTAMP_LTZ", consumer.TIMESTAMP, "timestamp"),
    ("timestampType", "INT", consumer.TIMESTAMP_TYPE, "timestampType"),
    ("headers", "ARRAY<STRUCT<key: STRING, value: BINARY>>", consumer.HEADERS, None),
)
"""The columns of Spark's own Kafka source, for expressions over them: name, type and origin."""


def read_rows(
    spark: SparkSession,
    scan: Scan,
    source: KafkaSource,
    positions: ReadRange,
    max_batch_rows: int,
    *,
    splits: Splits | None = None,
    folder: Path,
    keeps_apart: bool = False,
    tasks: int | None = None,
) -> DataFrame | PythonStage:
    """`splits` adds the origin of each row as a column; with it or `keeps_apart`, a task reads one partition.

    `folder` is the job's own. Without `tasks`, how partitions are spread does not depend on how many tasks there are.
    """
    layout = MessageLayout.of(scan, source)
    keeps_apart = keeps_apart or splits is not None
    messages = _Messages(spark, scan.id, source, positions, folder, max_batch_rows, tasks, keeps_apart=keeps_apart)
    if source.is_read_in_python:
        return _decode_stream(messages, layout, splits)
    with_headers = source.dead_letters is not None or needs_headers(layout.message_parts)
    frame = messages.to_frame(with_headers=with_headers)
    for half, format_ in (("key", source.key_format), ("value", source.value_format)):
        if isinstance(format_, AvroFormat):
            frame = with_avro(frame, half, format_, _fields(half, layout))
    if source.decodes_in_spark:
        key = _half("key", source.key_format, layout) if source.key_format is not None else None
        beside = [] if splits is None else [splits.column()]
        return rows_of_avro(frame, layout, key, _half("value", source.value_format, layout), beside)
    return _decode_frame(frame, layout, positions.counters, splits)


@dataclass(frozen=True, slots=True)
class _Messages:
    """The messages of a scan that nobody has read yet."""

    spark: SparkSession
    scan: str
    source: KafkaSource
    positions: ReadRange
    folder: Path
    max_batch_rows: int
    tasks: int | None
    keeps_apart: bool
    """Whether a task reads one partition only."""

    def stream(self, columns: Sequence[MessageColumn]) -> MessageStream:
        source, positions = self.source, self.positions
        request = ReadRequest(
            topics=source.topics,
            pattern=None if source.topic_pattern is None else python_regex(source.topic_pattern).pattern,
            properties=source.properties,
            folder=self.folder,
            scan=self.scan,
            starts=None if positions.start == _EARLIEST else flatten(json.loads(positions.start)),
            ends=positions.ends,
            most=self._most,
            columns=sources_of(columns),
            may_lose=not source.fails_on_data_loss,
            reads_committed=source.reads_committed,
            keeps_apart=self.keeps_apart,
            tasks=self.tasks,
        )
        return MessageStream(self.spark, request, positions.counters.read if positions.counters else None)

    def to_frame(self, *, with_headers: bool) -> DataFrame:
        """The messages in the JVM, as Spark's own source would give them."""
        if self.source.topic_pattern is not None and is_java_only(self.source.topic_pattern):
            return self._read_by_spark(with_headers=with_headers)
        chosen = [column for column in _OF_SPARK if with_headers or column[0] != "headers"]
        schema = to_struct(", ".join(f"{name} {type_}" for name, type_, *_ in chosen))
        columns = tuple(
            MessageColumn(name, origin, part, to_arrow_type(schema[name].dataType, timezone="UTC"))
            for name, _, origin, part in chosen
        )
        return PythonStage(self.stream(columns), schema, partial(arrange, columns)).to_frame()

    def _read_by_spark(self, *, with_headers: bool) -> DataFrame:
        """Only Java can tell which topics match."""
        reader = (
            self.spark.readStream.format("kafka")
            .options(**reader_options(self.source.properties))
            .option("subscribePattern", f"^(?:{self.source.topic_pattern})$")
            .option("startingOffsets", self.positions.start)
            .option("maxOffsetsPerTrigger", self._most)
            .option("failOnDataLoss", self.source.fails_on_data_loss)
            .option("includeHeaders", with_headers)
        )
        return reader.load()

    @property
    def _most(self) -> int:
        return self.source.max_batch_records or self.max_batch_rows


def _decode_stream(messages: _Messages, layout: MessageLayout, splits: Splits | None) -> DataFrame | PythonStage:
    """Read and decoded in the same step."""
    source = layout.source
    columns = [MessageColumn(VALUE, consumer.VALUE)]
    if source.key_format is not None or source.dead_letters is not None:
        columns.append(MessageColumn(KEY, consumer.KEY))
    columns += [MessageColumn(PARTITION, consumer.PARTITION), MessageColumn(OFFSET, consumer.OFFSET)]
    if len(source.topics) != 1:
        columns.append(MessageColumn(TOPIC, consumer.TOPIC))
    if source.dead_letters is not None:
        columns += [MessageColumn(TIMESTAMP, consumer.TIMESTAMP), MessageColumn(HEADERS, consumer.HEADERS)]
    to_convert = (use for use in layout.message_parts if not is_read_as_declared(use))
    converted = {use.column.name: use for use in (*to_convert, *(use for use, _ in layout.format_parts))}
    types = to_arrow_schema(to_struct(spark_schema(_decoded_columns(layout, converted))), timezone="UTC")
    columns += [metadata_column(use, types.field(use.column.name).type) for use in layout.message_parts]
    arranging = PythonStage(messages.stream(columns), "", partial(arrange, tuple(columns)))
    return _finish(arranging, layout, converted, messages.positions.counters, splits)


def _decode_frame(
    messages: DataFrame, layout: MessageLayout, counters: MessageCounters | None, splits: Splits | None
) -> DataFrame | PythonStage:
    """A half of each message has been decoded by Spark."""
    source = layout.source
    halves = [_half("value", source.value_format, layout).alias(VALUE)]
    if source.key_format is not None or source.dead_letters is not None:
        halves.append(_half("key", source.key_format, layout).alias(KEY))
    # Every column that is passed to Python has a cost; with a single topic, its name is known.
    origin = [F.col("partition").alias(PARTITION), F.col("offset").alias(OFFSET)]
    if len(source.topics) != 1:
        origin.append(F.col("topic").alias(TOPIC))
    if source.dead_letters is not None:
        # Spark measures an Arrow batch after each row, and visits all NULL lists to do so.
        headers = F.coalesce("headers", F.array()).alias(HEADERS)
        origin += [F.unix_millis("timestamp").alias(TIMESTAMP), headers]
    parts = [F.expr(part_of(use)).alias(use.column.name) for use in layout.message_parts]
    selected = messages.select(*halves, *origin, *parts)
    converted = {use.column.name: use for use, _ in layout.format_parts}
    return _finish(PythonStage(selected, selected.schema), layout, converted, counters, splits)


def _finish(
    messages: PythonStage,
    layout: MessageLayout,
    converted: Mapping[str, MetadataUse],
    counters: MessageCounters | None,
    splits: Splits | None,
) -> DataFrame | PythonStage:
    """Decodes the messages; `converted` is the metadata that comes in another type than its column's."""
    source = layout.source
    key = None
    if source.key_format is not None:
        decoder = _decoder(source.key_format, layout.key_fields, layout.key_names_read)
        key = MessageHalf(decoder, layout.key_columns_read)
    formats = {"value": source.value_format.name} | ({"key": source.key_format.name} if source.key_format else {})
    only_topic = source.topics[0] if len(source.topics) == 1 else None
    rows = _message_rows(layout, key)
    step: Step = DecodeStep(rows, source.table.name, formats, only_topic, source.dead_letters, counters)
    schema = spark_schema(_decoded_columns(layout, converted)) + (f", {KIND} TINYINT" if layout.has_kinds else "")
    if splits is not None:
        step = splits.beside(step, PARTITION, TOPIC)
        schema += f", {SPLIT} {splits.column_type}"
    decoded = messages.pipe(step, schema.removeprefix(", "))
    if converted:
        return _select_declared(decoded.to_frame(), layout, converted)
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


def _decoded_columns(layout: MessageLayout, converted: Mapping[str, MetadataUse]) -> Iterator[tuple[str, DataType]]:
    """The columns that Python returns."""
    return ((name, converted[name].type if name in converted else type_) for name, type_ in layout.columns)


def _select_declared(decoded: DataFrame, layout: MessageLayout, converted: Mapping[str, MetadataUse]) -> DataFrame:
    columns = (
        F.expr(convert(quote_name(name), converted[name].type, type_)).alias(name)
        if name in converted
        else F.col(quote_name(name))
        for name, type_ in layout.columns
    )
    kind = [F.col(KIND)] if layout.has_kinds else []
    return decoded.select(*columns, *kind, *split_columns(decoded))
