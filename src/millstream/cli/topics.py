"""`millstream topics` and `millstream describe`: which topics a cluster has, and what brokers know of one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from millstream.cli.arguments import pairs
from millstream.cli.numbers import count, duration, size
from millstream.plan.program import Listing
from millstream.topics.cluster import Cluster
from millstream.topics.listing import describe_topic, list_topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.topics.listing import TopicDescription

_DAY_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class ClusterRequest:
    """The cluster that a command names: its brokers, and further properties of Kafka's clients."""

    brokers: str
    properties: tuple[str, ...] = ()

    def connect(self) -> Cluster:
        return Cluster({"bootstrap.servers": self.brokers, **pairs(self.properties, "--property")})


def show_topics(request: ClusterRequest, *, as_json: bool) -> int:
    found = list_topics(request.connect())
    if as_json:
        print(json.dumps({"topics": [asdict(topic) for topic in found]}))
    elif not found:
        print(f"there are no topics at {request.brokers}")
    else:
        rows = tuple((each.topic, count(each.partitions), count(each.messages)) for each in found)
        print(Listing(("topic", "partitions", "messages"), rows).render())
    return 0


def show_topic(request: ClusterRequest, topic: str, *, as_json: bool) -> int:
    found = describe_topic(request.connect(), topic)
    print(json.dumps(found.as_json()) if as_json else "\n".join(_format(found)))
    return 0


def _format(found: TopicDescription) -> Iterator[str]:
    partitions, messages = len(found.partitions), sum(each.messages for each in found.partitions)
    yield f"{found.topic}: {count(messages)} messages in {partitions} partition{'' if partitions == 1 else 's'}"
    yield ""
    rows = [
        (str(each.partition), *map(count, (each.earliest, each.latest, each.messages))) for each in found.partitions
    ]
    yield Listing(("partition", "earliest", "latest", "messages"), tuple(rows)).render()
    if found.settings:
        yield ""
        yield from (f"{name:18}  {format_setting(name, value)}" for name, value in found.settings.items())
    yield ""
    if not found.groups:
        yield "no group has committed offsets"
        return
    groups = [
        (each.group, count(each.total), ", ".join(f"{number}: {count(lag)}" for number, lag in each.behind.items()))
        for each in found.groups
    ]
    yield Listing(("group", "lag", "by partition"), tuple(groups)).render()


def format_setting(name: str, value: str) -> str:
    """`604800000` of `retention.ms` is `604800000 (7 days)`."""
    if not value.lstrip("-").isdecimal():
        return value
    number = int(value)
    if number < 0:
        return f"{value} (no limit)"
    if name.endswith(".ms"):
        return f"{value} ({_format_age(number)})"
    return f"{value} ({size(number)})"


def _format_age(milliseconds: int) -> str:
    for unit, length in (("day", _DAY_MS), ("hour", _HOUR_MS)):
        if milliseconds >= length and milliseconds % length == 0:
            number = milliseconds // length
            return f"{number} {unit}{'' if number == 1 else 's'}"
    return duration(milliseconds / 1000)
