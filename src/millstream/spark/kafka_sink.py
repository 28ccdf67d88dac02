"""Turns rows into messages and delivers them: a retraction is a key without a value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import INSERT_ONLY, KIND, RowKind
from millstream.connectors.kafka.metadata import TIMESTAMP, TOPIC
from millstream.failpoints import reach
from millstream.formats.codecs import encoder_of
from millstream.formats.registry import ConfluentAvroFormat
from millstream.kernels.fold import fold_updates, last_changes
from millstream.spark.changelog import is_retraction
from millstream.spark.job_errors import null_in_key
from millstream.spark.message_metadata import headers_of, timestamp_of, topic_of
from millstream.spark.message_structs import MessageField, MessageStruct, build_structs
from millstream.spark.observed_counts import DELIVERED_TYPE
from millstream.spark.python_rows import ColumnUse, select_in_python
from millstream.spark.python_stage import PythonStage
from millstream.spark.splits import SPLIT, split_columns
from millstream.spark.types import quote_name, spark_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column

    from millstream.connectors.kafka.tables import KafkaSink
    from millstream.formats.decoded import Encoder
    from millstream.formats.registry import Format
    from millstream.spark.delivery import Delivering
    from millstream.spark.python_stage import Rows, Step
    from millstream.spark.worker_delivery import WorkerDelivery
    from millstream.sql.statements import MetadataColumn, PhysicalColumn
    from millstream.sql.types import DataType

    Delivery = Delivering | WorkerDelivery


def write_in_python(
    rows: PythonStage, sink: KafkaSink, delivery: Delivery, partitioning: Step | None = None, *, folds: bool = False
) -> PythonStage:
    """As `write_messages`, in the crossing that made the rows; for a sink that `encodes_in_python`."""
    written = {column.name for part in _parts(sink) for _, column in part.columns}
    fields = [field for field in rows.row_schema.fields if field.name in written]
    selected = select_in_python(rows, [ColumnUse(field.name, field.name, field.dataType) for field in fields])
    structs = [part.to_struct() for part in _parts(sink)]
    encoders = {part.name: part.encoder() for part in _parts(sink)}
    beside = [*([KIND] if folds and sink.buffer_flush is None else []), *([SPLIT] if sink.is_exactly_once else [])]
    steps: list[Step] = [partial(build_structs, sink.table.name, structs, beside), partial(encode_with, encoders)]
    steps += _last_steps(sink, delivery, partitioning, folds=folds)
    return selected.pipe(partial(_run, steps), DELIVERED_TYPE)


def write_messages(
    rows: Rows, sink: KafkaSink, delivery: Delivery, partitioning: Step | None = None, *, folds: bool = False
) -> PythonStage:
    """Delivers the messages of the rows as they are made, and returns their number.

    A retraction has no value, unless the format encodes the row kind. `partitioning` adds a column `partition`; without
    it, Kafka's producer chooses. `folds`: the rows contain old images of updates that a reader by key need not see.
    """
    columns: dict[str, Column] = {}
    encoders: dict[str, Encoder] = {}
    for part in _parts(sink):
        columns[part.name] = part.to_row(rows)
        encoders[part.name] = part.encoder()
    columns |= _beside_the_row(sink)
    if folds and sink.buffer_flush is None:
        columns[KIND] = F.col(KIND).cast("tinyint")
    steps: list[Step] = [partial(encode_with, encoders)]
    steps += _last_steps(sink, delivery, partitioning, folds=folds)
    beside = split_columns(rows) if sink.is_exactly_once else []
    prepared = rows.select(*(column.alias(name) for name, column in columns.items()), *beside)
    return PythonStage(prepared, DELIVERED_TYPE, partial(_run, steps))


def _last_steps(sink: KafkaSink, delivery: Delivery, partitioning: Step | None, *, folds: bool) -> list[Step]:
    """What is done with messages that are encoded."""
    steps: list[Step] = []
    if sink.buffer_flush is not None:
        steps.append(partial(last_changes, key_columns=["key"], max_keys=sink.buffer_flush.rows))
    elif folds:
        steps.append(partial(fold_updates, key_columns=["key"]))
    return [*steps, delivery] if partitioning is None else [*steps, partitioning, delivery]


def encode_with(encoders: dict[str, Encoder], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = [
            _encode_rows(encoders[name], column) if name in encoders else column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        if batch.num_rows:
            reach("before-delivery")
        yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _run(steps: Sequence[Step], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for step in steps:
        batches = step(batches)
    return batches


def _encode_rows(encoder: Encoder, rows: pa.StructArray) -> pa.Array:
    present = rows.is_valid()
    encoded = encoder.encode(pa.Table.from_struct_array(rows.drop_null()))
    if len(encoded) == len(rows):
        return encoded
    places = pc.subtract(pc.cumulative_sum(present.cast(pa.int64())), 1)
    return encoded.take(pc.if_else(present, places, None))


@dataclass(frozen=True, slots=True)
class _Part:
    """The key or the value of a message: its columns, by their names in the message."""

    name: str
    sink: KafkaSink
    format: Format
    columns: tuple[tuple[str, PhysicalColumn], ...]
    has_kind: bool = False
    """Whether the format encodes the row kind."""
    skips_retractions: bool = False
    """Whether a retraction has none."""

    def to_row(self, rows: Rows) -> Column:
        """The struct to pass on to Python."""
        kind = [_kind(rows).cast("tinyint").alias(KIND)] if self.has_kind else []
        fields = (_check_not_null(column, self.sink).alias(name) for name, column in self.columns)
        row = F.struct(*fields, *kind)
        return F.when(~is_retraction(rows), row) if self.skips_retractions else row

    def encoder(self) -> Encoder:
        return encoder_of(self._with_subject(), self._types)

    def to_struct(self) -> MessageStruct:
        fields = (MessageField(name, column.name, not column.type.nullable) for name, column in self.columns)
        return MessageStruct(self.name, tuple(fields), self.has_kind, self.skips_retractions)

    @property
    def _types(self) -> tuple[tuple[str, DataType], ...]:
        return tuple((name, column.type) for name, column in self.columns)

    def _with_subject(self) -> Format:
        if isinstance(self.format, ConfluentAvroFormat) and len(self.sink.topics) == 1:
            return self.format.with_default_subject(f"{self.sink.topic}-{self.name}")
        return self.format


def _parts(sink: KafkaSink) -> Iterator[_Part]:
    if sink.key_format is not None:
        yield _Part("key", sink, sink.key_format, tuple(zip(sink.key.names, sink.key_columns, strict=True)))
    columns = tuple((column.name, column) for column in sink.value_columns)
    by_key = sink.value_format.changelog == INSERT_ONLY
    yield _Part("value", sink, sink.value_format, columns, has_kind=not by_key, skips_retractions=by_key)


def _kind(rows: Rows) -> Column:
    return F.col(KIND) if KIND in rows.columns else F.lit(int(RowKind.INSERT))


def _beside_the_row(sink: KafkaSink) -> dict[str, Column]:
    """The parts of a message that the sink's metadata columns define."""
    columns: dict[str, Column] = {}
    for use in sink.metadata:
        value = _check_not_null(use.column, sink).cast(spark_type(use.type))
        if use.key == TOPIC.key:
            columns["topic"] = topic_of(value, sink)
        elif use.key == TIMESTAMP.key:
            columns["timestamp"] = timestamp_of(value, sink)
        else:
            columns["headers"] = headers_of(value, use.key)
    return columns


def _check_not_null(column: PhysicalColumn | MetadataColumn, sink: KafkaSink) -> Column:
    """The column's value; a NULL fails the job if the column is NOT NULL."""
    value = F.col(quote_name(column.name))
    if column.type.nullable:
        return value
    return F.coalesce(value, F.raise_error(F.lit(null_in_key(column.name, sink.table.name))))
