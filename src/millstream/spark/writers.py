"""Where the rows of a job go: each kind of sink as a writer of Spark's."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import INSERT_ONLY
from millstream.connectors.kafka_tables import KafkaSink
from millstream.connectors.local_tables import BlackholeSink, FilesystemSink, PrintSink
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.changelog import provided
from millstream.plan.nodes import Collect, Write
from millstream.spark.kafka_properties import writer_options
from millstream.spark.kafka_sink import encode_messages
from millstream.spark.local_tables import write_local
from millstream.spark.print_sink import show_rows
from millstream.spark.translate import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from millstream.plan.nodes import Root
    from millstream.plan.program import JobPlan
    from millstream.spark.translate import Surroundings


def writer_of(job: JobPlan, around: Surroundings) -> DataStreamWriter:
    """One query for the whole job."""
    insert_only = all(provided(root) == INSERT_ONLY for root in job.roots)
    return _writer(job.roots, around).outputMode("append" if insert_only else "update")


def _writer(roots: tuple[Root, ...], around: Surroundings) -> DataStreamWriter:
    """Several sinks of a statement set are topics of one Kafka."""
    match roots:
        case (Collect(),):
            return show_rows(rows_of(roots[0], around), around.shown)
        case (Write(sink=PrintSink() | BlackholeSink() | FilesystemSink() as sink),):
            return write_local(rows_of(roots[0], around), sink, around.folder, around.printed)
    to_kafka = [(root, root.sink) for root in roots if isinstance(root, Write) and isinstance(root.sink, KafkaSink)]
    if len(to_kafka) < len(roots):
        raise ScriptError(_separate(roots[0], "a statement set writes to Kafka tables only"))
    return _kafka_writer(to_kafka, around)


def _kafka_writer(writes: Sequence[tuple[Root, KafkaSink]], around: Surroundings) -> DataStreamWriter:
    options = [writer_options(sink.properties) for _, sink in writes]
    if any(other != options[0] for other in options):
        raise ScriptError(_separate(writes[0][0], "the tables of a statement set have the same 'properties.*'"))
    messages = [_messages(root, sink, around) for root, sink in writes]
    together = reduce(lambda left, right: left.unionByName(right), messages)
    return together.writeStream.format("kafka").options(**options[0])


def _messages(root: Root, sink: KafkaSink, around: Surroundings) -> DataFrame:
    return encode_messages(rows_of(root, around), sink).withColumn("topic", F.lit(sink.topic))


def _separate(root: Root, primary: str) -> Diagnostic:
    return Diagnostic(
        Code.UNSUPPORTED_STATEMENT,
        primary,
        root.span,
        hint="Write the other INSERT outside the set: it becomes a job of its own.",
    )
