"""What a table may say and no running job can do yet. Asked when a script is run, never when it is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.connectors import kafka_options as options
from millstream.connectors import kafka_scan_options as scan
from millstream.connectors import kafka_sink_options as sink_options
from millstream.connectors.kafka_metadata import TIMESTAMP
from millstream.connectors.kafka_tables import KafkaSink, KafkaSource
from millstream.connectors.kafka_values import DeliveryGuarantee
from millstream.connectors.legacy import open_reader
from millstream.errors import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.catalog.option_reader import OptionReader
    from millstream.connectors.tables import Sink, Source
    from millstream.formats.declarations import Format

_RUNNING_FORMATS: Final = ("json", "avro", "csv", "raw")
_PROTOCOL: Final = "security.protocol"


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
    if table.properties.get(_PROTOCOL, "PLAINTEXT").upper() != "PLAINTEXT":
        yield _not_yet(reader, options.PROPERTIES + _PROTOCOL, "an encrypted or authenticated connection")


def _formats(reader: OptionReader, chosen: tuple[tuple[str, Format | None], ...]) -> Iterator[Diagnostic]:
    for key, found in chosen:
        if found is not None and found.name not in _RUNNING_FORMATS:
            yield _not_yet(reader, key, f"format '{found.name}'")


def _of_source(source: KafkaSource, reader: OptionReader) -> Iterator[Diagnostic]:
    if source.topic_pattern is not None:
        yield _not_yet(reader, options.TOPIC_PATTERN.key, "a pattern of topics")
    value_key = options.FORMAT.key if reader.has(options.FORMAT.key) else options.VALUE_FORMAT.key
    yield from _formats(reader, ((value_key, source.value_format), (options.KEY_FORMAT.key, source.key_format)))
    for use in source.metadata:
        yield Diagnostic(Code.NOT_BUILT_YET, "metadata columns are not supported yet", use.column.span)
    if source.connector != "kafka":
        yield Diagnostic(
            Code.NOT_A_SOURCE,
            f"table \"{source.table.name}\" cannot be read: connector '{source.connector}' is a sink only, so far",
            reader.place("connector"),
            hint="Read the topic with 'connector' = 'kafka' to see its messages as inserts.",
        )
    elif source.key_format is not None:
        yield _not_yet(reader, options.KEY_FORMAT.key, "the message key of a table that is read")
    if source.end is not None:
        yield _not_yet(reader, scan.BOUNDED_MODE.key, "a bounded scan")
    if source.idle_timeout:
        yield _not_yet(reader, scan.WATERMARK_IDLE.key, "an idle timeout")


def _of_sink(sink: KafkaSink, reader: OptionReader) -> Iterator[Diagnostic]:
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
    for use in sink.metadata:
        if use.key == TIMESTAMP.key:
            yield Diagnostic(
                Code.NOT_BUILT_YET,
                f"writing metadata '{use.key}' is not supported yet",
                use.column.span,
                detail="Spark's Kafka sink leaves the time of a message to the producer.",
                hint=f'Declare "{use.column.name}" as METADATA VIRTUAL: then it is read only.',
            )


def _not_yet(reader: OptionReader, key: str, what: str, hint: str | None = None) -> Diagnostic:
    return reader.problem(Code.NOT_BUILT_YET, f"{what} is not supported yet", key, hint=hint)
