"""How far event time has come in a job, and what holds it back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from millstream.kernels.kept_time import FOLDER, load_time
from millstream.kernels.operator import MAX_WATERMARK
from millstream.kernels.watermark import SEPARATOR, TimeSource
from millstream.plan.physical.event_time import time_inputs
from millstream.plan.physical.nodes import Execution
from millstream.state.bucket import BucketState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from millstream.kernels.watermark import OperatorTime
    from millstream.plan.physical.nodes import PhysicalNode
    from millstream.plan.program import JobPlan
    from millstream.state.storage import StateStorage

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ALL: Final = 1 << 30
"""Batches: nothing is removed by a reader."""
ENDED: Final = "ended"


@dataclass(frozen=True, slots=True)
class HeldBack:
    """The split of a table without which the watermark would be further."""

    table: str
    partition: str | None
    """As `0`, or `topic/0` where a table has several topics; None of a table that has none, or none that is known."""
    watermark: int | None
    """Its own; None before its first row."""

    @property
    def place(self) -> str:
        return self.table if self.partition is None else f"partition {self.partition} of {self.table}"

    @property
    def text(self) -> str:
        return f"{self.place}, which has had no rows" if self.watermark is None else self.place


@dataclass(frozen=True, slots=True)
class EventTime:
    operator: str
    watermark: int | None
    """In milliseconds since the epoch; None before every table has said something."""
    held_back_by: HeldBack | None
    """None if nothing does: event time has ended, or all partitions are idle."""
    idle: int
    """How many partitions do not count at present."""

    @property
    def has_ended(self) -> bool:
        return self.watermark == MAX_WATERMARK

    @property
    def text(self) -> str:
        """`watermark 2026-01-01 00:00:05.000, held back by partition 1 of orders, 2 partitions idle`."""
        held = f", held back by {self.held_back_by.text}" if self.held_back_by is not None else ""
        idle = f", {self.idle} {'partition' if self.idle == 1 else 'partitions'} idle" if self.idle else ""
        return f"watermark {time_text(self.watermark) or 'none yet'}{held}{idle}"

    def as_json(self) -> dict[str, Any]:
        held = self.held_back_by
        return {
            "operator": self.operator,
            "watermark": time_text(self.watermark),
            "held_back_by": None
            if held is None
            else {"table": held.table, "partition": held.partition, "watermark": time_text(held.watermark)},
            "idle_partitions": self.idle,
        }


def time_text(milliseconds: int | None) -> str | None:
    """In UTC, which is how a TIMESTAMP counts as well."""
    if milliseconds is None or milliseconds == MAX_WATERMARK:
        return None if milliseconds is None else ENDED
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return f"{milliseconds} ms"
    return moment.replace(tzinfo=None).isoformat(" ", "milliseconds")


def event_times(plan: JobPlan, state: StateStorage, batch: int) -> tuple[EventTime, ...]:
    """Of each operator that needs time, after this batch. Raises StateFileError if it cannot be read."""
    nodes = [node for node in plan.physical.nodes if node.carries_time and node.execution is Execution.KERNEL]
    kept = {node.id: _load(state, node.id, batch) for node in nodes}
    tables = {scan.id: scan.source.table.name for scan in plan.scans}
    by_id = {node.id: node for node in nodes}
    return tuple(
        EventTime(
            node.id,
            kept[node.id].watermark,
            _holder(node, by_id, kept, tables),
            sum(
                split.is_idle for name, split in kept[node.id].splits.items() if name.partition(SEPARATOR)[0] in tables
            ),
        )
        for node in nodes
        if node.operator.needs_time
    )


def _load(state: StateStorage, operator: str, batch: int) -> OperatorTime:
    return load_time(BucketState(state, f"{operator}/{FOLDER}", batch + 1, retained=_ALL))


def _holder(
    node: PhysicalNode,
    nodes: Mapping[str, PhysicalNode],
    kept: Mapping[str, OperatorTime],
    tables: Mapping[str, str],
) -> HeldBack | None:
    """The split that is least far, of the source that is."""
    time = kept[node.id]
    if time.watermark == MAX_WATERMARK:
        return None
    found: list[tuple[int | None, str, str]] = []
    for source in time_inputs(node):
        prefix = TimeSource(source.id).name_of("")
        active = [(name, split.highest) for name, split in time.splits.items() if name.startswith(prefix)]
        active = [(name, highest) for name, highest in active if not time.splits[name].is_idle]
        if active:
            name, highest = min(active, key=_how_far)
            found.append((highest, source.id, name.removeprefix(prefix)))
    if not found:
        return None
    highest, source_id, place = min(found, key=lambda each: _how_far((each[1], each[0])))
    if source_id in nodes:
        return _holder(nodes[source_id], nodes, kept, tables)
    return HeldBack(tables[source_id], place or None, highest)


def _how_far(split: Sequence[Any]) -> tuple[bool, int]:
    highest = split[1]
    return highest is not None, highest or 0
