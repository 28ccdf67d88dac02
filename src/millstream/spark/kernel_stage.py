"""The step of a worker behind the exchange: runs the kernels of its buckets on their state and gives their changes."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Self

from millstream.failpoints import reach
from millstream.kernels.kept_time import FOLDER, load_time, save_time
from millstream.kernels.operator import MAX_WATERMARK, BatchTime
from millstream.kernels.watermark import SplitReport, TimeSource, merge_reports
from millstream.spark.batch_number import batch_number
from millstream.spark.event_time import EVENT_TIME, note, to_reports
from millstream.spark.packet_store import PacketStore
from millstream.spark.packets import END, TICK, unpack, unpack_by_part, unpack_in_steps
from millstream.spark.task_counts import count_step
from millstream.spark.task_input import require_all, require_end_markers
from millstream.state.bucket import BucketState
from millstream.state.state_table import StateTable, TimeToLive
from millstream.state.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TypeAlias

    import pyarrow as pa

    from millstream.kernels.operator import Operator, Parts, StateTableSpec
    from millstream.spark.packet_store import Stored

    Packet: TypeAlias = tuple[str, pa.Buffer]

NOW: Final = "now"
"""The column with the time of the batch."""
_ROWS_TOGETHER: Final = 1 << 16
"""Of the changes that Spark is given at a time."""


@dataclass(frozen=True, slots=True)
class TimeFlow:
    """How event time reaches an operator, and whether it goes on from there."""

    sources: tuple[TimeSource, ...]
    is_told: bool
    """Whether an operator above must know how far it has come."""


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """How the kernels of a job keep their state, and what one of them knows of time."""

    buckets: int
    state: Path
    """The folder of the job's state, the same on each machine that has workers."""
    tasks: int = 1
    """Over which the buckets are spread; may be another number whenever the job starts."""
    ttl_ms: int = 0
    """How long a row of state lives after it was last written; 0 is for ever."""
    retained: int = 10
    """How many batches back the state can be read."""
    state_expires: bool = False
    """Whether any state of the job has a TTL, by a hint or by the setting: rows that keep it alive must reach it."""
    time: TimeFlow | None = None
    """None where neither the operator nor one above asks for it."""

    @property
    def expires(self) -> bool:
        return self.state_expires or self.ttl_ms > 0

    def with_ttl(self, hinted: timedelta | None) -> Self:
        """Those of an operator of which a hint may say how long its state lives."""
        return self if hinted is None else replace(self, ttl_ms=hinted // timedelta(milliseconds=1))

    def time_to_live(self, table: StateTableSpec, now: int) -> TimeToLive | None:
        length = self.ttl_ms if table.ttl_ms is None else table.ttl_ms
        return TimeToLive(now, length) if length else None


@dataclass(frozen=True, slots=True)
class KernelStage:
    """A step from packets to changes."""

    id: str
    """Of the operator in its plan: the name of its folder."""
    operator: Operator
    settings: KernelSettings

    def __reduce__(self) -> tuple[Any, ...]:
        """A worker unpickles its step before it opens the rows of the task."""
        return _arrive, tuple(getattr(self, part.name) for part in fields(self))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = _gather(batches)
        if not found.packets:
            return
        flow = self.settings.time
        time = BatchTime(found.now) if flow is None else self._advance_time(found, flow)
        for bucket, stored in sorted(found.packets.items()):
            yield from self._step(bucket, [(part, found.store.load(packet)) for part, packet in stored], time)

    def _advance_time(self, found: _Found, flow: TimeFlow) -> BatchTime:
        """Each task computes the operator's time; that of the first bucket, to which packets always come, keeps it."""
        state = self._open(FOLDER)
        before = load_time(state)
        after = before.advance(found.now, found.reports, flow.sources, has_ended=found.has_ended)
        if 0 in found.packets:
            save_time(state, after)
            state.commit()
        if flow.is_told:
            watermark = _delay(after.watermark, self.operator.watermark_delay_ms)
            note({TimeSource(self.id).name_of(""): SplitReport(watermark, is_active=not after.is_idle)})
        assert after.now is not None
        return BatchTime(after.now, after.watermark, before.watermark)

    def _step(self, bucket: int, packets: list[Packet], time: BatchTime) -> Iterator[pa.RecordBatch]:
        state = self._open(str(bucket))
        if not packets and not self.operator.needs_time and state.is_empty:
            state.commit()  # removes files that are of no use any more
            return
        specs = self.operator.state_tables

        def open_table(name: str) -> StateTable:
            spec = specs[name]
            ttl = self.settings.time_to_live(spec, time.now)
            return StateTable(spec.keys, spec.values, state.table(name), ttl, summed=spec.summed)

        reach("before-state")
        if not packets and not self.operator.needs_time:
            self.operator.open(open_table)  # drops what has expired
        for parts in self._steps(packets):
            result = self.operator.open(open_table).step(parts, time)
            for changes in result.changes:  # which may touch the state as they are made
                yield from changes.cast(self.operator.output_schema).to_batches(max_chunksize=_ROWS_TOGETHER)
            count_step(result.ignored, result.late)
        state.commit()
        reach("after-state")

    def _steps(self, packets: list[Packet]) -> Iterator[Parts]:
        """What time does to a bucket, it does once."""
        if self.operator.needs_time:
            yield unpack_by_part(packets)
        elif packets:
            yield from unpack_in_steps(packets, self.settings.buckets)

    def _open(self, folder: str) -> BucketState:
        settings = self.settings
        storage = open_storage(settings.state)
        return BucketState(storage, f"{self.id}/{folder}", batch_number(), retained=settings.retained)


@dataclass(slots=True)
class _Found:
    """All that a batch has for a task."""

    now: int = 0
    packets: dict[int, list[tuple[str, Stored]]] = field(default_factory=dict)
    """Rows by bucket; none in those that only time has reached."""
    store: PacketStore = field(default_factory=PacketStore)
    reports: dict[str, SplitReport] = field(default_factory=dict)
    """How far event time has come, by split."""
    has_ended: bool = False
    """Whether no row comes after this batch."""


def _gather(batches: Iterator[pa.RecordBatch]) -> _Found:
    """A task whose rows are not all there must not reach its state: a later attempt may already have written it."""
    found = _Found()
    for batch in require_all(batches):
        columns = (batch.column("bucket").to_pylist(), batch.column("part").to_pylist(), batch.column("payload"))
        found.now = batch.column(NOW)[0].as_py() if batch.num_rows else found.now
        for bucket, part, payload in zip(*columns, strict=True):
            packets = found.packets.setdefault(bucket, [])
            if part == EVENT_TIME:
                merge_reports(found.reports, to_reports(unpack(payload.as_buffer())))
            elif part == TICK:
                found.has_ended |= payload.as_py() == END
            else:
                packets.append((part, found.store.add(payload.as_buffer())))
    return found


def _delay(watermark: int | None, delay_ms: int) -> int | None:
    """What may still come from an operator with this watermark: nothing, if nothing comes to it."""
    return watermark if watermark is None or watermark == MAX_WATERMARK else watermark - delay_ms


def _arrive(*parts: Any) -> KernelStage:
    require_end_markers()
    return KernelStage(*parts)
