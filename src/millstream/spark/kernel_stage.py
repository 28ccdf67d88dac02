"""The step of a worker behind the exchange: runs the kernels of its buckets on their state and gives their changes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

from millstream.failpoints import reach
from millstream.kernels.operator import BatchTime
from millstream.spark.batch_number import batch_number
from millstream.spark.packets import unpack_by_part
from millstream.spark.task_counts import count_ignored
from millstream.spark.task_input import require_all, require_end_markers
from millstream.state.bucket import BucketState
from millstream.state.state_table import StateTable, TimeToLive
from millstream.state.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from millstream.kernels.operator import Operator

NOW: Final = "now"
"""The column with the time of the batch, where rows of state expire."""
_ROWS_TOGETHER: Final = 1 << 16
"""Of the changes that Spark is given at a time."""


@dataclass(frozen=True, slots=True)
class KernelSettings:
    """How all kernels of a job keep their state."""

    buckets: int
    state: Path
    """The folder of the job's state, the same on each machine that has workers."""
    tasks: int = 1
    """Over which the buckets are spread; may be another number whenever the job starts."""
    ttl_ms: int = 0
    """How long a row of state lives after it was last written; 0 is for ever."""
    retained: int = 10
    """How many batches back the state can be read."""

    @property
    def expires(self) -> bool:
        return self.ttl_ms > 0


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
        for bucket, packets in sorted(_gather(batches).items()):
            yield from self._step(bucket, packets)

    def _step(self, bucket: int, packets: _Packets) -> Iterator[pa.RecordBatch]:
        settings = self.settings
        state = BucketState(
            open_storage(settings.state), f"{self.id}/{bucket}", batch_number(), retained=settings.retained
        )
        ttl = TimeToLive(packets.now, settings.ttl_ms) if settings.expires and packets.now is not None else None
        specs = self.operator.state_tables

        def open_table(name: str) -> StateTable:
            return StateTable(specs[name].keys, specs[name].values, state.table(name), ttl)

        kernel = self.operator.open(open_table)
        reach("before-state")
        result = kernel.step(unpack_by_part(packets.payloads), BatchTime())
        for changes in result.changes:  # which may touch the state as they are made
            yield from changes.cast(self.operator.output_schema).to_batches(max_chunksize=_ROWS_TOGETHER)
        state.commit()
        reach("after-state")
        count_ignored(result.ignored)


@dataclass(slots=True)
class _Packets:
    """All that a batch has for one bucket."""

    payloads: list[tuple[str, pa.Buffer]] = field(default_factory=list)
    now: int | None = None


def _gather(batches: Iterator[pa.RecordBatch]) -> dict[int, _Packets]:
    """A task whose rows are not all there must not reach its state: a later attempt may already have written it."""
    found: defaultdict[int, _Packets] = defaultdict(_Packets)
    for batch in require_all(batches):
        times = batch.column(NOW).to_pylist() if NOW in batch.schema.names else [None] * batch.num_rows
        columns = (batch.column("bucket").to_pylist(), batch.column("part").to_pylist(), batch.column("payload"), times)
        for bucket, part, payload, now in zip(*columns, strict=True):
            found[bucket].payloads.append((part, payload.as_buffer()))
            found[bucket].now = now
    return found


def _arrive(*parts: Any) -> KernelStage:
    require_end_markers()
    return KernelStage(*parts)
