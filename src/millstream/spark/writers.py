"""Creates the writer of each kind of sink."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from millstream.catalog.settings_of_flink import NotNullEnforcer
from millstream.connectors.kafka.custom_partitioner import load_partitioner
from millstream.connectors.kafka.option_values import Partitioning
from millstream.connectors.kafka.tables import KafkaSink, KafkaSource
from millstream.connectors.local.tables import BlackholeSink, FilesystemSink, PrintSink
from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.roots import Collect, Write
from millstream.plan.physical.nodes import Producer
from millstream.spark.delivery import Delivering, start_delivery
from millstream.spark.kafka_sink import write_in_python, write_messages
from millstream.spark.local_tables import write_local
from millstream.spark.partitioners import Choice, Rotation, choose_partitions, rotate_partitions
from millstream.spark.print_sink import show_rows
from millstream.spark.python_stage import PythonStage, UnitedRows
from millstream.spark.shared_scans import read_together
from millstream.spark.sink_rows import drop_null_rows, repartition
from millstream.spark.splits import SPLIT, number_by_task, prefix_of_insert, split_of_insert
from millstream.spark.task_ends import report_end
from millstream.spark.translate import frame_of, rows_of
from millstream.spark.worker_delivery import WorkerDelivery

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from millstream.plan.physical.nodes import Output, PhysicalNode, PhysicalPlan
    from millstream.plan.program import JobPlan
    from millstream.spark.python_stage import Rows, Step
    from millstream.spark.shared_scans import Encode
    from millstream.spark.translate import TranslationContext


def writer_of(job: JobPlan, context: TranslationContext) -> DataStreamWriter:
    """One query for the whole job."""
    plan = job.physical
    insert_only = all(root.is_insert_only for root in plan.roots)
    drops_nulls = job.settings.not_null_enforcer is NotNullEnforcer.DROP
    outputs = {output.root: output for output in plan.outputs}

    def encode(rows: Rows | PythonStage, root: PhysicalNode) -> PythonStage:
        return _encode(rows, outputs[root], context, drops_nulls=drops_nulls)

    kafka_scans = (scan.id for scan in plan.scans if isinstance(scan.source, KafkaSource))
    watched = (node.operator.scan_id for node in plan.nodes if isinstance(node.operator, AssignWatermark))
    context = replace(
        context,
        scan_numbers={id_: number for number, id_ in enumerate(kafka_scans)},
        timed_scans=frozenset(watched),
    )
    context = replace(context, shared=read_together(plan, context, encode))
    return _writer(plan, context, encode).outputMode("append" if insert_only else "update")


def _writer(plan: PhysicalPlan, context: TranslationContext, encode: Encode) -> DataStreamWriter:
    """Several sinks of a statement set are Kafka tables: other sets are refused before anything starts."""
    first = plan.roots[0]
    match first.operator:
        case Collect() as collect:
            columns = ((column.name, column.type) for column in collect.columns)
            return show_rows(frame_of(first, context), context.shown, columns)
        case Write(sink=PrintSink() | BlackholeSink() | FilesystemSink() as sink):
            return write_local(frame_of(first, context), sink, context.folder, context.printed)
    return _kafka_writer(plan, context, encode)


def _kafka_writer(plan: PhysicalPlan, context: TranslationContext, encode: Encode) -> DataStreamWriter:
    numbered = len(plan.roots) > 1 and context.dispatch.is_exactly_once
    messages = [_messages(root, context, encode, place if numbered else None) for place, root in enumerate(plan.roots)]
    apart = {id(frame): frame for frame in messages}.values()  # several INSERTs may share one
    return start_delivery(reduce(DataFrame.union, apart))


def _sink(root: PhysicalNode) -> KafkaSink:
    assert isinstance(root.operator, Write)
    assert isinstance(root.operator.sink, KafkaSink)
    return root.operator.sink


def _messages(root: PhysicalNode, context: TranslationContext, encode: Encode, insert: int | None) -> DataFrame:
    """`insert` is the number of the INSERT in a set that writes exactly once."""
    if root in context.shared:
        return frame_of(root, context)
    rows = rows_of(root, context)
    if not isinstance(rows, DataFrame) and _sink(root).parallelism is None:
        if insert is not None and SPLIT not in rows.columns:
            assert isinstance(rows, PythonStage), "the sides of a union have their splits"
            rows = number_by_task(rows, prefix_of_insert(insert))
        sides = rows.sides if isinstance(rows, UnitedRows) else (rows,)
        return reduce(DataFrame.union, (encode(side, root).to_frame() for side in sides))
    frame = rows if isinstance(rows, DataFrame) else rows.to_frame()
    frame = repartition(frame, _sink(root), context.pinned_tasks())
    if insert is not None and SPLIT not in frame.columns:
        frame = frame.select("*", split_of_insert(insert))
    return encode(frame, root).to_frame()


def _encode(rows: Rows | PythonStage, output: Output, context: TranslationContext, *, drops_nulls: bool) -> PythonStage:
    """Rows that are in Python stay there where the sink needs nothing of Spark's."""
    sink = _sink(output.root)
    way = WorkerDelivery if output.producer is Producer.WORKER else Delivering
    delivery = way.to(sink, context.dispatch)
    partitioning = _partitioning_step(sink, context)
    if isinstance(rows, PythonStage) and sink.encodes_in_python and not drops_nulls:
        messages = write_in_python(rows, sink, delivery, partitioning, folds=output.folds)
    else:
        frame = rows.to_frame() if isinstance(rows, PythonStage) else rows
        kept = drop_null_rows(frame, sink, drops_nulls=drops_nulls)
        messages = write_messages(kept, sink, delivery, partitioning, folds=output.folds)
    return replace(messages, step=report_end(messages.step, context.spark))


def _partitioning_step(sink: KafkaSink, context: TranslationContext) -> Step | None:
    """None if Kafka's producer chooses: by the key, or without one by filling a request for each partition."""
    topic = sink.topic if len(sink.topics) == 1 else None
    partitions_of = partial(context.partitions_of, sink.properties)
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
