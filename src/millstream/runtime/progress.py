"""What a running job reports after each batch."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from millstream.spark.observed_counts import delivered_messages, ignored_retractions, late_rows
from millstream.spark.tick_numbers import is_read_in_python, rows_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from millstream.connectors.kafka.read_range import Offsets
    from millstream.runtime.event_times import EventTime
    from millstream.state.job_state import OperatorSize


@dataclass(frozen=True, slots=True)
class SourceLag:
    """How many messages of a source have not been read yet."""

    source: str
    messages: int


@dataclass(frozen=True, slots=True)
class JobProgress:
    job: str
    batch: int
    rows_in: int
    rows_out: int
    batch_seconds: float
    lag: tuple[SourceLag, ...]
    committed_at: float
    """When the batch was committed, in seconds since the epoch."""
    total_rows_in: int
    total_rows_out: int
    ignored_retractions: int
    """How many retractions found no row: the input contradicts itself, or the state has expired."""
    total_ignored_retractions: int
    skipped: int = 0
    """Messages skipped since the job started, because their format ignores parse errors."""
    dead_letters: int = 0
    """Messages written to dead-letter topics since the job started, because they could not be read."""
    lost: int = 0
    """Offsets deleted before they were read, since the job started; 'scan.fail-on-data-loss' is false."""
    state: tuple[OperatorSize, ...] = ()
    """The size of what each operator keeps, in the order in which rows reach them."""
    late_rows: int = 0
    """Rows that were dropped because event time had passed them before the batch."""
    late: tuple[tuple[str, int], ...] = ()
    """How many there were since the job started, by the operators that dropped them."""
    event_times: tuple[EventTime, ...] = ()
    """How far event time has come at each operator that waits for it."""

    @property
    def rows_in_per_second(self) -> float:
        return self.rows_in / self.batch_seconds if self.batch_seconds else 0.0

    @property
    def rows_out_per_second(self) -> float:
        return self.rows_out / self.batch_seconds if self.batch_seconds else 0.0

    @property
    def state_bytes(self) -> int:
        return sum(operator.bytes for operator in self.state)

    @property
    def total_late_rows(self) -> int:
        return sum(count for _, count in self.late)

    @property
    def time_has_ended(self) -> bool:
        """Whether no operator expects any more rows, as all tables have been read to their ends."""
        return bool(self.event_times) and all(time.has_ended for time in self.event_times)

    @property
    def slowest(self) -> EventTime | None:
        """The operator at which event time is least far."""
        known = [time.watermark for time in self.event_times if time.watermark is not None]
        least = min(known) if len(known) == len(self.event_times) and known else None
        return next((time for time in self.event_times if time.watermark == least), None)

    @property
    def total_lag(self) -> int:
        return sum(lag.messages for lag in self.lag)

    def as_json(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "lag": {lag.source: lag.messages for lag in self.lag},
            "late": dict(self.late),
            "total_late_rows": self.total_late_rows,
            "event_times": [time.as_json() for time in self.event_times],
            "rows_in_per_second": round(self.rows_in_per_second, 1),
            "rows_out_per_second": round(self.rows_out_per_second, 1),
            "state_bytes": self.state_bytes,
            "state": {size.operator: _state_as_json(size) for size in self.state},
        }


def _state_as_json(size: OperatorSize) -> dict[str, Any]:
    tables = {table.table: {"rows": table.rows, "bytes": table.bytes} for table in size.tables}
    return {"rows": size.rows, "bytes": size.bytes, "tables": tables}


@dataclass(frozen=True, slots=True)
class Counted:
    """What Spark's report does not contain, or counts differently than a user would."""

    state: tuple[OperatorSize, ...] = ()
    skipped: int = 0
    dead_letters: int = 0
    lost: int = 0
    """In this batch."""
    messages: int = 0
    """Read by workers in this batch."""
    rows_in: int | None = None
    """Counted where rows are generated."""
    rows_out: int | None = None
    """Counted where rows are shown."""
    event_times: tuple[EventTime, ...] = ()


def progress_of(job: str, report: Mapping[str, Any], before: JobProgress | None, counted: Counted) -> JobProgress:
    """The progress of one batch, from Spark's report."""
    rows_in = rows_read(report, counted.messages) if counted.rows_in is None else counted.rows_in
    ignored, late = ignored_retractions(report), late_rows(report)
    late_before = dict(before.late) if before else {}
    delivered = delivered_messages(report)
    written = max(int(report["sink"].get("numOutputRows", 0)), 0) if delivered is None else delivered
    rows_out = written if counted.rows_out is None else counted.rows_out
    return JobProgress(
        job=job,
        batch=int(report["batchId"]),
        rows_in=rows_in,
        rows_out=rows_out,
        batch_seconds=report["durationMs"].get("triggerExecution", 0) / 1000,
        lag=tuple(lag for source in report["sources"] if (lag := _lag(source)).source),
        committed_at=time.time(),
        total_rows_in=rows_in + (before.total_rows_in if before else 0),
        total_rows_out=rows_out + (before.total_rows_out if before else 0),
        ignored_retractions=ignored,
        total_ignored_retractions=ignored + (before.total_ignored_retractions if before else 0),
        skipped=counted.skipped,
        dead_letters=counted.dead_letters,
        lost=counted.lost + (before.lost if before else 0),
        state=counted.state,
        late_rows=sum(late.values()),
        late=tuple((each, late_before.get(each, 0) + late.get(each, 0)) for each in sorted({*late_before, *late})),
        event_times=counted.event_times,
    )


def _lag(source: Mapping[str, Any]) -> SourceLag:
    latest = flat_offsets(source.get("latestOffset"))
    reached = flat_offsets(source.get("endOffset"))
    behind = sum(max(offset - reached.get(partition, 0), 0) for partition, offset in latest.items())
    return SourceLag(", ".join(sorted({topic for topic, _ in reached})), behind)


def planned_messages(report: Mapping[str, Any]) -> int:
    """How many offsets a batch was to read in workers; fewer messages if some are gone, or were never messages."""
    return sum(_size(source) for source in report["sources"] if is_read_in_python(source))


def _size(source: Mapping[str, Any]) -> int:
    starts, ends = flat_offsets(source.get("startOffset")), flat_offsets(source.get("endOffset"))
    return sum(max(end - starts.get(place, 0), 0) for place, end in ends.items())


def least_offsets(report: Mapping[str, Any]) -> dict[tuple[str, int], int]:
    """How far the whole job has read: if a topic is read twice, what both scans have read."""
    return least(flat_offsets(source.get("endOffset")) for source in report["sources"])


def least(offsets: Iterable[Offsets]) -> dict[tuple[str, int], int]:
    found: dict[tuple[str, int], int] = {}
    for place, offset in (item for of_source in offsets for item in of_source.items()):
        found[place] = min(offset, found.get(place, offset))
    return found


def flat_offsets(offsets: Any) -> dict[tuple[str, int], int]:
    """Spark's `{"topic": {"0": 42}}` as `{("topic", 0): 42}`; sources other than Kafka have other offsets."""
    return {
        (topic, int(partition)): offset
        for topic, partitions in (offsets.items() if isinstance(offsets, dict) else ())
        for partition, offset in (partitions.items() if isinstance(partitions, dict) else ())
    }
