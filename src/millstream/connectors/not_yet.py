"""What a table may say and no running job can do yet. Asked when a script is run, never when it is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.connectors import kafka_options as options
from millstream.connectors import kafka_scan_options as scan
from millstream.connectors.kafka_client import untranslatable
from millstream.connectors.kafka_tables import KafkaSink, KafkaSource
from millstream.connectors.legacy import open_reader
from millstream.errors import Code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.catalog.option_reader import OptionReader
    from millstream.connectors.tables import Sink, Source
    from millstream.errors import Diagnostic

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


def _of_both(table: KafkaSource | KafkaSink, reader: OptionReader) -> Iterator[Diagnostic]:
    for found in untranslatable(table.properties):
        yield reader.problem(
            Code.INVALID_OPTION_VALUE, found.why, options.PROPERTIES + found.key, detail=_WHO_ASKS, hint=found.hint
        )


def _of_source(source: KafkaSource, reader: OptionReader) -> Iterator[Diagnostic]:
    if source.idle_timeout:
        yield _not_yet(reader, scan.WATERMARK_IDLE.key, "an idle timeout")


def _not_yet(reader: OptionReader, key: str, what: str) -> Diagnostic:
    return reader.problem(Code.NOT_BUILT_YET, f"{what} is not supported yet", key)
