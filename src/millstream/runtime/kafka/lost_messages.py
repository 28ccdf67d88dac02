"""Messages that were deleted before a job had read them, by retention or because their topic was re-created."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from millstream.errors import BrokerError, Code, Diagnostic, MillstreamError
from millstream.runtime.events import MessagesLost
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.runtime.kafka.source_positions import plain
from millstream.runtime.progress import flat_offsets, planned_messages
from millstream.spark.failure_patterns import START_OVER, WITHOUT_THEM
from millstream.spark.tick_numbers import is_read_in_python

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from millstream.connectors.kafka.read_range import Offsets
    from millstream.connectors.kafka.tables import KafkaSource
    from millstream.runtime.kafka.clients import KafkaClients


@dataclass(frozen=True, slots=True)
class Topics:
    """The current topics of a table, according to Kafka."""

    first: Offsets
    ends: Offsets
    recreated: Collection[str]
    """The topics that were deleted and created again: the name is the same, the topic is not."""


def refuse_lost(job: str, source: KafkaSource, read_up_to: Offsets, topics: Topics) -> None:
    """Raises if a job that has read this far cannot resume."""
    lost = list(_find_lost(job, source, read_up_to, topics))
    if lost:
        raise BrokerError(lost)


def _find_lost(job: str, source: KafkaSource, read_up_to: Offsets, topics: Topics) -> Iterator[Diagnostic]:
    place = source.places.value("topic" if source.topic_pattern is None else "topic-pattern")
    there = {topic for topic, _ in topics.ends}
    for topic in sorted({topic for topic, _ in read_up_to} - there):
        yield Diagnostic(
            Code.OFFSETS_UNAVAILABLE,
            f'topic "{topic}", which job "{job}" has read before, is gone',
            place,
            detail="Messages that had not been read may be lost with it.",
            hint=WITHOUT_THEM,
        )
    for (topic, partition), position in sorted(item for item in read_up_to.items() if item[0][0] in there):
        first, end = topics.first.get((topic, partition)), topics.ends.get((topic, partition))
        if first is None or end is None or end < position or topic in topics.recreated:
            now = "no longer exists" if end is None else f"ends at {end}"
            yield Diagnostic(
                Code.OFFSETS_UNAVAILABLE,
                f'topic "{topic}" is not the one that job "{job}" has read before',
                place,
                detail=f"Partition {partition} was read up to offset {position} and {now}: "
                "the topic was deleted and re-created.",
                hint=START_OVER,
            )
        elif first > position:
            yield Diagnostic(
                Code.OFFSETS_UNAVAILABLE,
                f'messages that job "{job}" has not read yet are gone from topic "{topic}"',
                place,
                detail=f"Partition {partition}: offsets {position} to {first - 1}, {first - position} in all; "
                "retention or a deletion has removed them.",
                hint=WITHOUT_THEM,
            )


class LossWatch:
    """Counts the losses of tables that are to continue without lost messages, which workers skip."""

    def __init__(self, job: str, sources: Iterable[KafkaSource], clients: KafkaClients) -> None:
        self._clients = clients
        self._job = job
        self._sources = [source for source in sources if not source.fails_on_data_loss]

    def in_batch(self, report: Mapping[str, Any], messages: int) -> list[MessagesLost]:
        """What a batch did not find: `messages` were read. Kafka is asked only if some are missing."""
        found: list[MessagesLost] = []
        is_complete = messages == planned_messages(report)
        for of_source in report["sources"] if self._sources else ():
            starts, ends = flat_offsets(of_source.get("startOffset")), flat_offsets(of_source.get("endOffset"))
            source = self._source_of({topic for topic, _ in ends})
            wanted = sum(abs(end - starts.get(place, end)) for place, end in ends.items())
            misses_some = not is_complete if is_read_in_python(of_source) else of_source["numInputRows"] < wanted
            has_shrunk = any(end < starts.get(place, end) for place, end in ends.items())
            if source is not None and (misses_some or has_shrunk):
                with suppress(MillstreamError):  # failing to count must not fail the job
                    found += self._between(starts, ends, self._first_offsets(source, ends))
        return found

    def _source_of(self, topics: set[str]) -> KafkaSource | None:
        return next((each for each in self._sources if not each.topics or topics <= set(each.topics)), None)

    def _between(self, starts: Offsets, ends: Offsets, there: Offsets) -> Iterator[MessagesLost]:
        for (topic, partition), end in ends.items():
            place = (topic, partition)
            start, first = starts.get(place, end), there.get(place, 0)
            if end < start:  # a re-created topic, of which Spark reads only new messages
                start, first = first, end
            if start < min(first, end):
                yield MessagesLost(self._job, topic, partition, start, min(first, end))

    def _first_offsets(self, source: KafkaSource, ends: Offsets) -> Offsets:
        admin = KafkaAdmin(source.properties, clients=self._clients)
        return plain(admin.earliest(sorted({topic for topic, _ in ends})))
