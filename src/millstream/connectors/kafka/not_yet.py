"""Options of a Kafka table that no running job supports. `check` and `run` report them, `explain` does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.catalog.options import is_java_only
from millstream.connectors.kafka import options
from millstream.connectors.kafka.client import untranslatable
from millstream.errors import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.connectors.kafka.tables import KafkaSink, KafkaSource

_WHO_ASKS: Final = "Topics and offsets are read with Kafka's C client, which lacks what the Java client can do here."


def find_connections_of_java(table: KafkaSource | KafkaSink) -> Iterator[Diagnostic]:
    """Each property by name, at the position of its key."""
    for found in untranslatable(table.properties):
        place = table.places.key(options.PROPERTIES + found.key)
        yield Diagnostic(Code.INVALID_OPTION_VALUE, found.why, place, detail=_WHO_ASKS, hint=found.hint)


def find_patterns_of_java(source: KafkaSource) -> Iterator[Diagnostic]:
    pattern = source.topic_pattern
    if pattern is not None and is_java_only(pattern) and not source.reads_all_there_is:
        yield Diagnostic(
            Code.INVALID_OPTION_VALUE,
            "positions cannot be found for topics of this pattern",
            source.places.value(options.TOPIC_PATTERN.key),
            detail="It uses syntax that only Java supports, and positions are determined before Java starts.",
            hint="Write the pattern without it, or set 'scan.startup.mode' = 'earliest-offset' and no end.",
        )
