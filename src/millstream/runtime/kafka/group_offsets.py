"""Commits what a job has read to the consumer groups of its tables, for lag monitoring.

Nothing depends on these offsets: a job resumes from its checkpoint. So a failure here never stops a job.
"""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from confluent_kafka import TopicPartition

from millstream.catalog.options import python_regex
from millstream.errors import MillstreamError
from millstream.runtime.kafka.admin import KafkaAdmin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.connectors.kafka.read_range import Offsets, ReadRange
    from millstream.connectors.kafka.tables import KafkaSource
    from millstream.runtime.kafka.clients import KafkaClients

_SWITCH: Final = "commit.offsets.on.checkpoint"
LAST_SECONDS: Final = 15.0
"""The first commit to a new cluster waits until the cluster has created its offsets topic."""


class GroupOffsets:
    """Commits the latest offsets on a thread of its own, so that a batch never waits for it."""

    def __init__(self, scans: Iterable[tuple[KafkaSource, ReadRange]], clients: KafkaClients) -> None:
        self._clients = clients
        self._groups = [
            (source, positions)
            for source, positions in scans
            if source.group and source.properties.get(_SWITCH, "true").strip().lower() != "false"
        ]
        self._admins: dict[int, KafkaAdmin] = {}
        self._changed = threading.Condition()
        self._latest: Offsets | None = None
        self._is_closed = False
        self._thread: threading.Thread | None = None

    @property
    def is_asked_for(self) -> bool:
        return bool(self._groups)

    def report(self, reached: Offsets) -> None:
        """All offsets that finished batches have read so far, by topic and partition."""
        if not self._groups:
            return
        with self._changed:
            self._latest = reached
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="millstream-group-offsets", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Returns when the last offsets are committed, or on a timeout."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(LAST_SECONDS)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._latest is not None or self._is_closed)
                reached, self._latest = self._latest, None
            if reached is None:
                return
            for index, (source, positions) in enumerate(self._groups):
                self._commit(index, source, offsets_to_commit(source, positions, reached))

    def _commit(self, index: int, source: KafkaSource, offsets: Offsets) -> None:
        entries = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
        if not entries or source.group is None:
            return
        with suppress(MillstreamError):  # retried after the next batch
            if index not in self._admins:
                self._admins[index] = KafkaAdmin(source.properties, clients=self._clients)
            self._admins[index].commit(entries, source.group)


def offsets_to_commit(source: KafkaSource, positions: ReadRange, reached: Offsets) -> Offsets:
    """Those of a job's offsets that belong to this table; a bounded scan has read nothing past its end."""
    own = {place: offset for place, offset in reached.items() if reads(source, place[0])}
    if positions.ends is None:
        return own
    return {place: min(offset, positions.ends[place]) for place, offset in own.items() if place in positions.ends}


def reads(source: KafkaSource, topic: str) -> bool:
    if source.topic_pattern is None:
        return topic in source.topics
    try:
        return python_regex(source.topic_pattern).fullmatch(topic) is not None
    except re.error:
        return False
