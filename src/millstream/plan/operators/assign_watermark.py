"""AssignWatermark: the watermark of a table is computed from its rows; Flink's WatermarkAssigner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from millstream.catalog.durations import duration_text
from millstream.plan.operators.node import Node, Unary, transform, walk
from millstream.plan.resolver.sql_text import sql_text
from millstream.plan.typed import columns_in

if TYPE_CHECKING:
    from datetime import timedelta

    from millstream.plan.typed import Typed
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class AssignWatermark(Unary):
    """Its rows stay as they are. It is there only if an operator above needs time."""

    input: Node
    column: str
    """The event-time attribute."""
    expression: Typed
    """The watermark of a row: no later row of its partition is expected to have an event time at or below it."""
    span: Span
    idle_after: timedelta | None = None
    """How long a split has no rows until event time passes without it, zero being for ever; None until it is known."""
    id: str = ""

    @property
    def scan_id(self) -> str:
        """The scan whose rows it looks at."""
        [scan] = (below for below in walk(self) if not below.inputs)
        return scan.id

    @property
    def rowtimes(self) -> frozenset[str]:
        return frozenset({self.column}) & frozenset(self.column_types())

    @property
    def label(self) -> str:
        idle = f", idleAfter=[{duration_text(self.idle_after)}]" if self.idle_after else ""
        return f"AssignWatermark(rowtime=[{self.column}], watermark=[{sql_text(self.expression)}]{idle})"

    @property
    def expressions(self) -> tuple[Typed, ...]:
        return (self.expression,)

    def prune(self, needed: frozenset[str]) -> tuple[Self, tuple[frozenset[str], ...]]:
        return self, (needed | columns_in(self.expression),)


def without_watermarks(node: Node) -> Node:
    """The same rows where nobody asks how far event time has come."""
    return transform(node, lambda each: each.inputs[0] if isinstance(each, AssignWatermark) else each)
