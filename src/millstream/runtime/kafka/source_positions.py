"""Where reading a table's topics begins and ends, according to Kafka now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.connectors.kafka.option_values import BoundedMode, StartupMode
from millstream.connectors.kafka.scan_options import STARTUP_OFFSETS
from millstream.errors import BrokerError, Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import TopicPartition

    from millstream.connectors.kafka.read_range import Offsets
    from millstream.connectors.kafka.tables import KafkaSource
    from millstream.runtime.kafka.admin import KafkaAdmin


class SourcePositions:
    """Requests about one table's topics; `topics` are those that exist."""

    def __init__(
        self, source: KafkaSource, admin: KafkaAdmin, topics: tuple[str, ...], notice: Callable[[str], None]
    ) -> None:
        self._source = source
        self._admin = admin
        self._topics = topics
        self._notice = notice

    def starts(self) -> Offsets | None:
        """None for the earliest offsets: the current ones may be deleted before the job reads them."""
        start = self._source.start
        match start.mode:
            case StartupMode.EARLIEST:
                if not start.chosen:
                    self._notice(
                        f'table "{self._source.table.name}": a new job starts at the earliest offset '
                        "(scan.startup.mode is not set)"
                    )
                return None
            case StartupMode.LATEST:
                return self._latest()
            case StartupMode.TIMESTAMP:
                assert start.timestamp is not None
                return self._at(start.timestamp)
            case StartupMode.SPECIFIC:
                chosen = {(self._topics[0], partition): offset for partition, offset in start.offsets}
                return self._check_starts({**self._read_committed(), **chosen})
            case StartupMode.GROUP:
                return self._group_starts()

    def ends(self) -> Offsets | None:
        """None for an unbounded scan."""
        end = self._source.end
        if end is None:
            return None
        match end.mode:
            case BoundedMode.LATEST:
                return self._latest()
            case BoundedMode.TIMESTAMP:
                assert end.timestamp is not None
                return self._at(end.timestamp)
            case BoundedMode.SPECIFIC:
                chosen = {(self._topics[0], partition): offset for partition, offset in end.offsets}
                wanted, earliest = {**self._read_committed(), **chosen}, self._earliest()
                return {place: wanted.get(place, first) for place, first in earliest.items()}
            case BoundedMode.GROUP:
                committed = self._read_committed()
                self._refuse_gaps(committed, "another 'scan.bounded.mode'")
                return committed
            case BoundedMode.UNBOUNDED:
                return None

    def _check_starts(self, wanted: Offsets) -> Offsets:
        """A bounded scan may begin after its end, and after all existing messages: then it reads nothing."""
        starts, last = _not_before(self._earliest(), wanted), self._latest()
        beyond = {place: start for place, start in starts.items() if start > last.get(place, start)}
        if beyond and self._source.end is None:
            raise self._beyond_end_error(beyond, last)
        return {place: last[place] if place in beyond else start for place, start in starts.items()}

    def _beyond_end_error(self, beyond: Offsets, last: Offsets) -> BrokerError:
        places = (
            f"{topic}-{partition} from {start}, which ends at {last[topic, partition]}"
            for (topic, partition), start in sorted(beyond.items())
        )
        return BrokerError(
            Diagnostic(
                Code.OFFSETS_UNAVAILABLE,
                f'table "{self._source.table.name}" cannot be read from its start offsets: they do not exist',
                self._source.places.value(STARTUP_OFFSETS.key),
                detail=f"Partitions: {'; '.join(places)}.",
                hint=f"Correct '{STARTUP_OFFSETS.key}', or set 'scan.startup.mode' to latest-offset.",
            )
        )

    def _group_starts(self) -> Offsets:
        source = self._source
        last, earliest = self._latest(), self._earliest()
        # A re-created topic may end before the committed offset, which Kafka treats as no commit.
        committed = {
            place: offset for place, offset in self._read_committed().items() if offset <= last.get(place, offset)
        }
        if committed.keys() >= earliest.keys():
            return _not_before(earliest, committed)
        reset = source.properties.get("auto.offset.reset", "").strip().lower()
        if not source.start.chosen or reset == "earliest":
            if not source.start.chosen:
                where = "the offsets committed by" if committed else "the earliest offset, as nothing is committed by"
                self._notice(f'table "{source.table.name}": a new job starts at {where} group "{source.group}"')
            return _not_before(earliest, committed)
        if reset == "latest":
            return _not_before(earliest, {**last, **committed})
        self._refuse_gaps(
            committed, "'properties.auto.offset.reset' to earliest or latest, or another 'scan.startup.mode'"
        )
        return committed

    def _refuse_gaps(self, committed: Offsets, otherwise: str) -> None:
        source = self._source
        missing = sorted(f"{topic}-{partition}" for topic, partition in self._earliest().keys() - committed.keys())
        if not missing:
            return
        raise BrokerError(
            Diagnostic(
                Code.OFFSETS_UNAVAILABLE,
                f'group "{source.group}" has committed no offsets for table "{source.table.name}"',
                source.places.value("properties.group.id"),
                detail=f"Partitions without: {', '.join(missing)}.",
                hint=f"Set {otherwise}.",
            )
        )

    def _at(self, timestamp: int) -> Offsets:
        reads_committed = self._source.reads_committed
        return plain(self._admin.at_timestamp(self._topics, timestamp, committed_only=reads_committed))

    def _latest(self) -> Offsets:
        return plain(self._admin.latest(self._topics, committed_only=self._source.reads_committed))

    def _earliest(self) -> Offsets:
        return plain(self._admin.earliest(self._topics))

    def _read_committed(self) -> Offsets:
        return plain(self._admin.committed(self._topics, self._source.group)) if self._source.group else {}


def plain(offsets: dict[TopicPartition, int]) -> Offsets:
    return {(partition.topic, partition.partition): offset for partition, offset in offsets.items()}


def _not_before(earliest: Offsets, wanted: Offsets) -> Offsets:
    """The wanted offsets, but none that retention has removed; partitions not mentioned start at the earliest."""
    return {partition: max(first, wanted.get(partition, first)) for partition, first in earliest.items()}
