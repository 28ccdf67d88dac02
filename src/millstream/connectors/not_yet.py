"""What a table may say and no running job can do. `check` and `run` ask for it, `explain` does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.catalog.options import is_java_only
from millstream.connectors.kafka import options
from millstream.connectors.kafka.client import untranslatable
from millstream.connectors.kafka.tables import KafkaSink, KafkaSource
from millstream.connectors.legacy import open_reader
from millstream.errors import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.catalog.option_reader import OptionReader
    from millstream.connectors.tables import Sink, Source

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
    pattern = source.topic_pattern
    if pattern is not None and is_java_only(pattern) and not source.reads_all_there_is:
        yield Diagnostic(
            Code.INVALID_OPTION_VALUE,
            "positions cannot be found for topics of this pattern",
            reader.value_place(options.TOPIC_PATTERN.key),
            detail="It has parts that only Java reads, and positions are settled before Java runs.",
            hint="Write the pattern without them, or set 'scan.startup.mode' = 'earliest-offset' and no end.",
        )
