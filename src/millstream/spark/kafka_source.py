"""Reads topics as rows: workers read the bytes, the formats decode them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.catalog.options import python_regex
from millstream.changelog import KIND
from millstream.connectors.kafka.metadata import is_read_as_declared
from millstream.connectors.kafka.spark_options import reader_options
from millstream.formats.codecs import decoder_of
from millstream.formats.message_rows import KEY, VALUE, MessageHalf, MessageRows
from millstream.librdkafka import partition_consumer as consumer
from millstream.reading.offset_plan import flatten
from millstream.reading.read_request import ReadRequest
from millstream.spark.casts import convert
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

    from pyspark.sql import SparkSession

    from millstream.connectors.kafka.read_range import MessageCounters, ReadRange
    from millstream.connectors.kafka.tables import KafkaSource
    from millstream.connectors.metadata import MetadataUse
    from millstream.plan.operators.scan import Scan
    from millstream.spark.python_stage import Step
    from millstream.spark.splits import Splits
    from millstream.sql.types import DataType

_EARLIEST: Final = "earliest"


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
    reads_nothing: bool = False,
) -> DataFrame | PythonStage:
    """`splits` adds the origin of each row as a column; with `keeps_apart`, a task reads one partition.

    `folder` is the job's own. Without `tasks`, how partitions are spread does not depend on how many tasks there are.
    """
    layout = MessageLayout.of(scan, source)
    messages = _Messages(
        spark,
        scan.id,
        source,
        positions,
        folder,
        max_batch_rows,
        tasks,
        keeps_apart=keeps_apart,
        tells_partitions=splits is not None,
        reads_nothing=reads_nothing,
    )
    if source.is_read_in_python:
        return _decode_stream(messages, layout, splits)
    frame = messages.to_frame(with_headers=source.dead_letters is not None or needs_headers(layout.message_parts))
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
    tells_partitions: bool
    """Whether the rows of partitions are told apart."""
    reads_nothing: bool

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
            tells_partitions=self.tells_partitions,
            reads_nothing=self.reads_nothing,
            tasks=self.tasks,
        )
        return MessageStream(self.spark, request, positions.counters.read if positions.counters else None)

    def to_frame(self, *, with_headers: bool) -> DataFrame:
        """The messages in the JVM, where Spark's own source reads them: only Java can tell which topics match."""
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
    """The messages have been read by Spark."""
    source = layout.source
    halves = [F.col("value").alias(VALUE)]
    if source.key_format is not None or source.dead_letters is not None:
        halves.append(F.col("key").alias(KEY))
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
        decoder = decoder_of(source.key_format, layout.key_fields, layout.key_names_read)
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
    decoder = decoder_of(layout.source.value_format, layout.value_fields, layout.value_columns_read, metadata)
    value = MessageHalf(decoder, (*layout.value_columns_read, *(name for name, _ in metadata)))
    names = tuple(name for name, _ in layout.columns)
    sets_aside = layout.source.dead_letters is not None
    return MessageRows(names, value, key, with_kinds=layout.has_kinds, upserts=layout.upserts, sets_aside=sets_aside)


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
