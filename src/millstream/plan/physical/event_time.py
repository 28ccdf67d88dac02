"""Where the event time comes from that an operator is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.scan import Scan
from millstream.plan.physical.nodes import Execution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.plan.physical.nodes import PhysicalNode


@dataclass(frozen=True, slots=True)
class TimeInput:
    """The scan of a table, or an operator with state."""

    id: str
    is_operator: bool = False
    idle_timeout: timedelta = timedelta()
    """After how long without rows a split does not count; none if that is zero."""


def time_inputs(node: PhysicalNode) -> tuple[TimeInput, ...]:
    """Those whose watermarks the operator's own is the least of. A table without one holds it back for ever."""
    return tuple(dict.fromkeys(found for below in node.inputs for found in _inputs_at(below)))


def _inputs_at(node: PhysicalNode) -> Iterator[TimeInput]:
    match node.operator:
        case AssignWatermark():
            yield TimeInput(node.operator.scan_id, idle_timeout=node.operator.idle_after or timedelta())
        case Scan():
            yield TimeInput(node.id)
        case _ if node.execution is Execution.KERNEL:
            yield TimeInput(node.id, is_operator=True)
        case _:
            yield from time_inputs(node)
