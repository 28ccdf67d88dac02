"""Where the rows of a job go: each kind of sink as a writer of Spark's."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING

from pyspark import cloudpickle

from millstream.catalog.settings_of_flink import NotNullEnforcer
from millstream.changelog import INSERT_ONLY, RowKind
from millstream.connectors.kafka.custom_partitioner import load_partitioner
from millstream.connectors.kafka.option_values import Partitioning, UpdateMode
from millstream.connectors.kafka.spark_options import writer_options
from millstream.connectors.kafka.tables import KafkaSink
from millstream.connectors.local.tables import BlackholeSink, FilesystemSink, PrintSink
from millstream.plan.changelog import provided
from millstream.plan.nodes import Collect, Write
from millstream.plan.own_producers import has_own_producers
from millstream.spark.delivery import Delivering, delivered
from millstream.spark.kafka_sink import encode_messages
from millstream.spark.local_tables import write_local
from millstream.spark.partitioners import Choice, Rotation, choose_partitions, rotate_partitions
from millstream.spark.print_sink import show_rows
from millstream.spark.shared_scans import read_together
from millstream.spark.sink_rows import kept_rows, spread
from millstream.spark.splits import SPLIT, split_of_insert
from millstream.spark.task_ends import ends_told
from millstream.spark.translate import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from millstream.plan.nodes import Root
    from millstream.plan.program import JobPlan
    from millstream.spark.crossing import Crossing, Rows, Step
    from millstream.spark.shared_scans import Encoded
    from millstream.spark.translate import TranslationContext


def writer_of(job: JobPlan, around: TranslationContext) -> DataStreamWriter:
    """One query for the whole job."""
    insert_only = all(provided(root) == INSERT_ONLY for root in job.roots)
    drops_nulls = job.settings.not_null_enforcer is NotNullEnforcer.DROP
    encoded = partial(_encoded, around=around, drops_nulls=drops_nulls, ours=has_own_producers(job.roots))
    around = replace(around, shared=read_together(job.roots, around, encoded))
    return _writer(job.roots, around, encoded).outputMode("append" if insert_only else "update")


def _writer(roots: tuple[Root, ...], around: TranslationContext, encoded: Encoded) -> DataStreamWriter:
    """Several sinks of a statement set are topics of one Kafka."""
    match roots:
        case (Collect(),):
            columns = ((column.name, column.type) for column in roots[0].columns)
            return show_rows(rows_of(roots[0], around), around.shown, columns)
        case (Write(sink=PrintSink() | BlackholeSink() | FilesystemSink() as sink),):
            return write_local(rows_of(roots[0], around), sink, around.folder, around.printed)
    writes = [root for root in roots if isinstance(root, Write) and isinstance(root.sink, KafkaSink)]
    assert len(writes) == len(roots), "other sets are refused before anything starts"
    return _kafka_writer(writes, around, encoded)


def _kafka_writer(writes: Sequence[Write], around: TranslationContext, encoded: Encoded) -> DataStreamWriter:
    first = writes[0].sink
    assert isinstance(first, KafkaSink)
    numbered = len(writes) > 1 and around.dispatch.is_exactly_once
    messages = [_messages(root, around, encoded, place if numbered else None) for place, root in enumerate(writes)]
    apart = {id(frame): frame for frame in messages}.values()  # those of several INSERTs may be one
    together = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), apart)
    if has_own_producers(writes):
        return delivered(together)
    return together.writeStream.format("kafka").options(**writer_options(first.properties))


def _messages(root: Write, around: TranslationContext, encoded: Encoded, insert: int | None) -> DataFrame:
    """`insert` numbers those of a set that writes exactly once."""
    assert isinstance(root.sink, KafkaSink)
    if id(root) in around.shared:
        return around.shared[id(root)]
    rows = spread(rows_of(root, around), root.sink, around.pinned_tasks())
    if insert is not None and SPLIT not in rows.columns:
        rows = rows.select("*", split_of_insert(insert))
    return encoded(rows, root).alone()


def _encoded(rows: Rows, root: Write, around: TranslationContext, *, drops_nulls: bool, ours: bool) -> Crossing:
    sink = root.sink
    assert isinstance(sink, KafkaSink)
    changes = provided(root)
    by_key = sink.value_format.changelog == INSERT_ONLY and sink.update_mode is not UpdateMode.RETRACT
    folds = by_key and RowKind.UPDATE_BEFORE in changes and not sink.ignore_retraction
    delivering = Delivering.to(sink, around.dispatch) if ours else None
    kept = kept_rows(rows, sink, drops_nulls=drops_nulls)
    messages = encode_messages(kept, sink, _partitioning(sink, around), folds=folds, delivering=delivering)
    return replace(messages, step=ends_told(messages.step, around.spark))


def _partitioning(sink: KafkaSink, around: TranslationContext) -> Step | None:
    """None where Kafka's producer chooses: by the key, or without one as many messages in a row as fill a request."""
    topic = sink.topic if len(sink.topics) == 1 else None
    partitions_of = partial(around.partitions_of, sink.properties)
    match sink.partitioner.kind:
        case Partitioning.FIXED | Partitioning.CUSTOM:
            return partial(choose_partitions, _choice(sink, topic, partitions_of))
        case Partitioning.ROUND_ROBIN if sink.key_format is None:
            return partial(rotate_partitions, Rotation(topic, partitions_of))
        case _:
            return None


def _choice(sink: KafkaSink, topic: str | None, partitions_of: Callable[[str], tuple[int, ...]]) -> Choice:
    choice = Choice(sink.table.name, topic, sink.parallelism, partitions_of)
    custom = load_partitioner(sink)
    if custom is None:
        return choice
    for module in custom.modules:
        cloudpickle.register_pickle_by_value(module)
    return replace(choice, custom_name=custom.name, custom=custom.make)
