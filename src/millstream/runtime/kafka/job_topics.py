"""The topics that a running job reads, as Kafka and their consumer groups see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.runtime.kafka.group_offsets import GroupOffsets
from millstream.runtime.kafka.lost_messages import LossWatch
from millstream.runtime.kafka.source_positions import plain
from millstream.runtime.kafka.source_topics import topics_of
from millstream.runtime.kafka.tables import kafka_scans
from millstream.runtime.kafka.topic_ids import TopicIdWatch

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from millstream.connectors.kafka.read_range import Offsets, ReadRange
    from millstream.plan.program import JobPlan
    from millstream.runtime.events import MessagesLost
    from millstream.runtime.kafka.clients import KafkaClients


class JobTopics:
    """Does nothing for a job that reads no Kafka table."""

    def __init__(self, plan: JobPlan, folder: Path, positions: Mapping[str, ReadRange], clients: KafkaClients) -> None:
        self._clients = clients
        scans = list(kafka_scans(plan))
        self._sources = [source for _, source in scans]
        self._group_offsets = GroupOffsets(((source, positions[scan.id]) for scan, source in scans), clients)
        self._losses = LossWatch(plan.name, self._sources, clients)
        self._topic_ids = TopicIdWatch(folder, self._sources, clients)

    @property
    def commits_offsets(self) -> bool:
        """Whether offsets are committed to a consumer group."""
        return self._group_offsets.is_asked_for

    def after_batch(self, report: Mapping[str, Any], messages: int) -> list[MessagesLost]:
        """Receives Spark's report and how many messages were read, and returns those that were not found."""
        self._topic_ids.after_batch(report)
        return self._losses.in_batch(report, messages)

    def commit(self, reached: Offsets) -> None:
        """Commits everything that finished batches have read so far, without waiting."""
        self._group_offsets.report(reached)

    def ends_now(self) -> dict[tuple[str, int], int]:
        """The end of each topic now, which a job that has caught up has read."""
        ends: dict[tuple[str, int], int] = {}
        for source in self._sources:
            admin = KafkaAdmin(source.properties, clients=self._clients)
            ends |= plain(admin.latest(topics_of(source, admin), committed_only=source.reads_committed))
        return ends

    def close(self) -> None:
        """Returns when the last offsets are committed, or on a timeout."""
        self._group_offsets.close()
