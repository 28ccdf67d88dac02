"""What topics there are, and all that brokers know of one: partitions, settings, and the groups that read it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from millstream.topics.messages import by_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.topics.cluster import Cluster

SHOWN_SETTINGS: Final = ("cleanup.policy", "retention.ms", "retention.bytes", "max.message.bytes", "compression.type")


@dataclass(frozen=True, slots=True)
class TopicSummary:
    """`messages` counts offsets: compaction and the markers of transactions leave fewer messages."""

    topic: str
    partitions: int
    messages: int


@dataclass(frozen=True, slots=True)
class PartitionSummary:
    partition: int
    earliest: int
    latest: int

    @property
    def messages(self) -> int:
        return self.latest - self.earliest


@dataclass(frozen=True, slots=True)
class GroupLag:
    """`behind` is how many offsets of each partition a group has not committed yet."""

    group: str
    behind: Mapping[int, int]

    @property
    def total(self) -> int:
        return sum(self.behind.values())


@dataclass(frozen=True, slots=True)
class TopicDescription:
    topic: str
    partitions: tuple[PartitionSummary, ...]
    settings: Mapping[str, str]
    groups: tuple[GroupLag, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "topic": self.topic,
            "partitions": [{**asdict(found), "messages": found.messages} for found in self.partitions],
            "settings": dict(self.settings),
            "groups": [
                {"group": found.group, "lag": found.total, "partitions": {str(k): v for k, v in found.behind.items()}}
                for found in self.groups
            ],
        }


def list_topics(cluster: Cluster) -> list[TopicSummary]:
    topics = cluster.admin.topics()
    first, last = cluster.admin.earliest(topics), cluster.admin.latest(topics)
    counts = {topic: [last[place] - first[place] for place in last if place.topic == topic] for topic in topics}
    return [TopicSummary(topic, len(found), sum(found)) for topic, found in counts.items()]


def describe_topic(cluster: Cluster, topic: str) -> TopicDescription:
    cluster.require(topic)
    first, last = by_number(cluster.admin.earliest([topic])), by_number(cluster.admin.latest([topic]))
    settings = cluster.admin.topic_settings(topic)
    return TopicDescription(
        topic,
        tuple(PartitionSummary(number, first[number], last[number]) for number in sorted(last)),
        {name: settings[name] for name in SHOWN_SETTINGS if name in settings},
        tuple(
            GroupLag(group, {number: max(0, last[number] - max(offset, first[number])) for number, offset in read})
            for group, offsets in sorted(cluster.admin.offsets_of_groups(topic).items())
            if (read := sorted(offsets.items()))
        ),
    )
