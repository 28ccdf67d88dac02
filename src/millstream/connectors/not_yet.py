"""What a table may say and no running job can do yet. Asked when a script is run, never when it is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.connectors import kafka_options as options
from millstream.connectors import kafka_scan_options as scan
from millstream.connectors import kafka_sink_options as sink_options
from millstream.connectors.kafka_client import untranslatable
from millstream.connectors.kafka_tables import KafkaSink, KafkaSource
from millstream.connectors.kafka_values import DeliveryGuarantee, Partitioning
from millstream.connectors.legacy import open_reader
from millstream.errors import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.catalog.option_reader import OptionReader
    from millstream.connectors.tables import Sink, Source

_WRITTEN_FORMATS: Final = ("json", "avro", "csv", "raw")
_WHO_ASKS: Final = "Brokers are asked for topics and offsets by Kafka's C client, which cannot do what Java's can here."


def unbuilt(table: Source | Sink) -> Iterator[Diagnostic]:
    """Each by name, at the place of its key."""
    reader = open_reader(table.table)
    match table:
        case KafkaSource():
            yield from _of_both(table, reader)
            yield from _of_source(table, reader)
        case KafkaSink():
            yield from _of_both(table, reader)
            yield from _of_sink(table, reader)


def _of_both(table: KafkaSource | KafkaSink, reader: OptionReader) -> Iterator[Diagnostic]:
    for found in untranslatable(table.properties):
        yield reader.problem(
            Code.INVALID_OPTION_VALUE, found.why, options.PROPERTIES + found.key, detail=_WHO_ASKS, hint=found.hint
        )


def _of_source(source: KafkaSource, reader: OptionReader) -> Iterator[Diagnostic]:
    if source.idle_timeout:
        yield _not_yet(reader, scan.WATERMARK_IDLE.key, "an idle timeout")


def _formats(sink: KafkaSink, reader: OptionReader) -> Iterator[Diagnostic]:
    value_key = options.FORMAT.key if reader.has(options.FORMAT.key) else options.VALUE_FORMAT.key
    for key, found in ((value_key, sink.value_format), (options.KEY_FORMAT.key, sink.key_format)):
        if found is not None and found.name not in _WRITTEN_FORMATS:
            yield _not_yet(reader, key, f"format '{found.name}'")


def _of_sink(sink: KafkaSink, reader: OptionReader) -> Iterator[Diagnostic]:
    yield from _formats(sink, reader)
    if sink.topic_pattern is not None:
        yield _not_yet(reader, options.TOPIC_PATTERN.key, "a pattern of topics")
    for use in sink.metadata:
        yield Diagnostic(Code.NOT_BUILT_YET, "metadata columns are not supported yet", use.column.span)
    if len(sink.topics) > 1:
        yield _not_yet(reader, options.TOPIC.key, "writing to several topics")
    if sink.delivery.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
        key = (
            sink_options.SEMANTIC.key if reader.has(sink_options.SEMANTIC.key) else sink_options.DELIVERY_GUARANTEE.key
        )
        yield _not_yet(
            reader,
            key,
            "delivery guarantee exactly-once",
            "Use at-least-once: readers of an upsert topic converge, because the last message of a key wins.",
        )
    if sink.partitioner.kind is Partitioning.CUSTOM and not sink.partitioner.is_python:
        yield Diagnostic(
            Code.INVALID_OPTION_VALUE,
            f"partitioner '{sink.partitioner.implementation}' is not a Python class",
            reader.value_place(sink_options.PARTITIONER.key),
            hint="Name a class that can be imported, as 'module:Class'.",
        )
    if sink.partitioner.kind in (Partitioning.CUSTOM, Partitioning.FIXED):
        yield _not_yet(reader, sink_options.PARTITIONER.key, f"a {sink.partitioner.kind} partitioner")
    if sink.connector == "kafka" and sink.key_format is not None:
        yield _not_yet(reader, options.KEY_FORMAT.key, "the message key of connector 'kafka'")
    if sink.key.names != tuple(column.name for column in sink.key.columns):
        yield _not_yet(reader, options.KEY_FIELDS_PREFIX.key, "a prefix of key fields")
    if sink.ignore_retraction:
        yield _not_yet(reader, sink_options.IGNORE_RETRACTION.key, "dropping retractions")


def _not_yet(reader: OptionReader, key: str, what: str, hint: str | None = None) -> Diagnostic:
    return reader.problem(Code.NOT_BUILT_YET, f"{what} is not supported yet", key, hint=hint)
