"""The ids of the topics that a job reads: a topic that was deleted and created again has a new id.

They are stored beside the checkpoint. Judged by its offsets alone, a new topic that is longer than the old one would
pass for it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from millstream.durable_files import JobFile, read_json, write_json
from millstream.errors import MillstreamError
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.runtime.kafka.source_topics import is_found_by_java, topics_of
from millstream.runtime.kafka.tables import kafka_sources
from millstream.runtime.progress import flat_offsets

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from millstream.connectors.kafka.tables import KafkaSource
    from millstream.plan.program import JobPlan
    from millstream.runtime.kafka.clients import KafkaClients


def read_kept_ids(folder: Path) -> dict[str, str]:
    """By topic; empty if nothing was stored."""
    return read_json(folder / JobFile.TOPIC_IDS, _parse_ids) or {}


def keep_ids(folder: Path, job: JobPlan, clients: KafkaClients) -> None:
    """Called when the job may start: the topics that exist now are those that it reads."""
    kept = read_kept_ids(folder)
    ids: dict[str, str] = {}
    for source in kafka_sources(job):
        admin = KafkaAdmin(source.properties, clients=clients)
        topics = _existing_topics(kept, admin) if is_found_by_java(source) else topics_of(source, admin)
        ids |= admin.topic_ids(topics) if topics else {}
    if ids and ids != kept:
        write_json(folder / JobFile.TOPIC_IDS, ids)


def _existing_topics(topics: Iterable[str], admin: KafkaAdmin) -> list[str]:
    return [topic for topic in admin.topics() if topic in topics]


class TopicIdWatch:
    """Stores the ids of topics that a pattern finds while the job runs."""

    def __init__(self, folder: Path, sources: Iterable[KafkaSource], clients: KafkaClients) -> None:
        self._clients = clients
        self._folder = folder
        self._sources = [source for source in sources if source.topic_pattern is not None]
        self._asked: set[str] = set()

    def after_batch(self, report: Mapping[str, Any]) -> None:
        """Receives Spark's report. Asks Kafka once per topic; if it does not respond, again after the next batch."""
        if not self._sources:
            return
        read = {topic for source in report["sources"] for topic, _ in flat_offsets(source.get("endOffset"))}
        if read <= self._asked:
            return
        kept = read_kept_ids(self._folder)
        new = read - kept.keys() - self._asked
        with suppress(MillstreamError):
            found = self._ids(new)
            if found:
                write_json(self._folder / JobFile.TOPIC_IDS, {**found, **kept})
            self._asked |= read

    def _ids(self, topics: set[str]) -> dict[str, str]:
        ids: dict[str, str] = {}
        for source in self._sources if topics else ():
            admin = KafkaAdmin(source.properties, clients=self._clients)
            there = _existing_topics(topics, admin)
            ids |= admin.topic_ids(there) if there else {}
        return ids


def _parse_ids(content: Any) -> dict[str, str]:
    if not all(isinstance(identity, str) for identity in content.values()):
        raise TypeError("not the ids of topics")
    return dict(content)
