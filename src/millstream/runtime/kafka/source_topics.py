"""The topics that a table reads: those that it names, or those that match its pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.catalog.options import is_java_only, python_regex
from millstream.runtime.kafka.tables import kafka_sources
from millstream.runtime.progress import least

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.connectors.kafka.read_range import Offsets
    from millstream.connectors.kafka.tables import KafkaSource
    from millstream.plan.program import JobPlan
    from millstream.runtime.kafka.admin import KafkaAdmin


def topics_of(source: KafkaSource, admin: KafkaAdmin) -> tuple[str, ...]:
    """The table's topics that exist now."""
    if source.topic_pattern is None:
        return source.topics
    whole_name = python_regex(source.topic_pattern)
    return tuple(topic for topic in admin.topics() if whole_name.fullmatch(topic))


def is_found_by_java(source: KafkaSource) -> bool:
    """Whether only Spark can tell which topics match the table's pattern."""
    return source.topic_pattern is not None and is_java_only(source.topic_pattern)


def offsets_of(source: KafkaSource, job: JobPlan, read_up_to: Sequence[Offsets]) -> Offsets:
    """The offsets that belong to this table, out of those of all scans of the job."""
    if is_found_by_java(source):
        others = [other for other in kafka_sources(job) if not is_found_by_java(other)]
        return least(offsets for offsets in read_up_to if not any(_reads_all(other, offsets) for other in others))
    return least(offsets for offsets in read_up_to if _reads_all(source, offsets))


def _reads_all(source: KafkaSource, offsets: Offsets) -> bool:
    topics = {topic for topic, _ in offsets}
    if source.topic_pattern is None:
        return topics <= set(source.topics)
    return all(map(python_regex(source.topic_pattern).fullmatch, topics))
