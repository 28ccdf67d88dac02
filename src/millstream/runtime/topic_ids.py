"""Which topics a job reads, by the ids that Kafka gives them: one that was deleted and made anew has another.

Kept beside the checkpoint. By its offsets alone, a new topic that is longer than the old one would pass for it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from millstream.connectors.kafka_tables import KafkaSource
from millstream.runtime.kafka_admin import KafkaAdmin

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from millstream.plan.program import JobPlan

_FILE: Final = "topics.json"


def kept_ids(folder: Path) -> dict[str, str]:
    """By topic; nothing where nothing was kept."""
    with suppress(OSError, ValueError):
        kept = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return {str(topic): str(identity) for topic, identity in kept.items()}
    return {}


def keep_ids(folder: Path, job: JobPlan) -> None:
    """Called when the job may start: what is there now is what it reads."""
    ids = {
        topic: identity
        for source in (scan.source for scan in job.scans)
        if isinstance(source, KafkaSource) and source.topics
        for topic, identity in KafkaAdmin(source.properties).topic_ids(source.topics).items()
    }
    if ids and ids != kept_ids(folder):
        _write(folder, ids)


def _write(folder: Path, ids: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{_FILE}.new"
    unfinished.write_text(json.dumps(ids), encoding="utf-8")
    unfinished.replace(folder / _FILE)
