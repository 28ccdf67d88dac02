"""Which topics a job reads, by the ids that Kafka gives them: one that was deleted and made anew has another.

Kept beside the checkpoint. By its offsets alone, a new topic that is longer than the old one would pass for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.connectors.kafka_tables import KafkaSource
from millstream.durable_files import JobFile, read_json, write_json
from millstream.runtime.kafka_admin import KafkaAdmin

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.plan.program import JobPlan


def kept_ids(folder: Path) -> dict[str, str]:
    """By topic; nothing where nothing was kept."""
    return read_json(folder / JobFile.TOPIC_IDS, _parse_ids) or {}


def keep_ids(folder: Path, job: JobPlan) -> None:
    """Called when the job may start: what is there now is what it reads."""
    ids = {
        topic: identity
        for source in (scan.source for scan in job.scans)
        if isinstance(source, KafkaSource) and source.topics
        for topic, identity in KafkaAdmin(source.properties).topic_ids(source.topics).items()
    }
    if ids and ids != kept_ids(folder):
        write_json(folder / JobFile.TOPIC_IDS, ids)


def _parse_ids(content: Any) -> dict[str, str]:
    if not all(isinstance(identity, str) for identity in content.values()):
        raise TypeError("not the ids of topics")
    return dict(content)
