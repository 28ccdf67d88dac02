"""Which offsets a batch reads. Nothing here asks Kafka."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from millstream.librdkafka.partition_consumer import Range
from millstream.reading.reading_error import DeletedPartitionsError, RecreatedTopicError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.connectors.kafka.read_range import Offsets

    NestedOffsets = dict[str, dict[str, int]]

_WORTH_A_TASK: Final = 10_000
"""Messages."""
_MOST_RANGES: Final = 16
"""Few messages may be large ones."""


def bound(starts: Offsets, latest: Offsets, ends: Offsets | None) -> Offsets:
    """All that there is to read. A bounded scan does not go back if an earlier version has read beyond its end."""
    if ends is None:
        return latest
    return {place: min(end, max(ends[place], starts.get(place, 0))) for place, end in latest.items() if place in ends}


def plan_ends(starts: Offsets, latest: Offsets, most: int | None) -> Offsets:
    """Where a batch ends that begins at `starts`, with at most so many messages; `latest` is all there is.

    Partitions that `starts` does not know are new, and begin at 0.
    """
    if most is None:
        return latest
    sizes = {place: max(end - starts.get(place, 0), 0) for place, end in latest.items()}
    total = sum(sizes.values())
    if total <= most:
        return latest
    return {
        place: starts.get(place, 0) + _share(size, most / total) if size else latest[place]
        for place, size in sizes.items()
    }


def refuse_losses(starts: Offsets, latest: Offsets) -> None:
    """Raises DeletedPartitionsError or RecreatedTopicError."""
    if gone := sorted(starts.keys() - latest.keys()):
        raise DeletedPartitionsError(gone)
    for place, start in starts.items():
        if latest[place] < start:
            raise RecreatedTopicError(place, start, latest[place])


def _share(size: int, part: float) -> int:
    """At least one message of each partition, so that none waits for ever."""
    return min(size, max(math.floor(size * part), 1))


def ranges_between(starts: Offsets, ends: Offsets) -> list[Range]:
    """A task each, in an order that is the same when a batch is done again."""
    return [
        Range(topic, partition, start, end)
        for (topic, partition), end in sorted(ends.items())
        if (start := starts.get((topic, partition), 0)) < end
    ]


def group_ranges(ranges: list[Range], tasks: int | None) -> list[tuple[Range, ...]]:
    """What one task reads: no fewer messages than a task is worth, and a like part of all if there are more ranges.

    If `tasks` is None, this depends on nothing but the ranges. Whatever it is, the ranges of a task come after those of
    the task before it, so that the order of all rows stays the same if a batch is repeated with other tasks.
    """
    groups = _join_small(ranges)
    return groups if tasks is None or len(groups) <= tasks else _spread(groups, tasks)


def _spread(groups: list[tuple[Range, ...]], tasks: int) -> list[tuple[Range, ...]]:
    """Each group to the task in whose part of all messages its middle lies."""
    shares: list[list[Range]] = [[] for _ in range(tasks)]
    total = sum(map(_size, groups))
    before = 0
    for group in groups:
        size = _size(group)
        shares[(2 * before + size) * tasks // (2 * total)] += group
        before += size
    return [tuple(share) for share in shares if share]


def _size(group: Iterable[Range]) -> int:
    return sum(one.end - one.start for one in group)


def _join_small(ranges: list[Range]) -> list[tuple[Range, ...]]:
    groups: list[tuple[Range, ...]] = []
    waiting: list[Range] = []
    for each in ranges:
        waiting.append(each)
        if _size(waiting) >= _WORTH_A_TASK or len(waiting) == _MOST_RANGES:
            groups.append(tuple(waiting))
            waiting = []
    return [*groups, tuple(waiting)] if waiting else groups


def nest(offsets: Offsets) -> NestedOffsets:
    """In the form of Spark's Kafka source, `{"topic": {"0": 42}}`, in an order that depends on nothing else."""
    nested: NestedOffsets = {}
    for (topic, partition), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[str(partition)] = offset
    return nested


def flatten(nested: NestedOffsets) -> Offsets:
    return {(topic, int(number)): offset for topic, found in nested.items() for number, offset in found.items()}
