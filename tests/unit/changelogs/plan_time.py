"""Event time in a plan without Spark: how far it has come at each operator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from millstream.kernels.operator import MAX_WATERMARK, BatchTime
from millstream.plan.operators.assign_watermark import AssignWatermark

if TYPE_CHECKING:
    from millstream.plan.physical.nodes import PhysicalNode
    from tests.unit.kernels.bench import Bench


class PlanTime:
    def __init__(self) -> None:
        self.now = 0
        self.has_ended = False
        """Whether no table has more rows."""
        self._highest: dict[PhysicalNode, int] = {}
        self._benches: dict[PhysicalNode, Bench] = {}

    def reach(self, node: PhysicalNode, watermark: int | None) -> None:
        """The rows of a table with a watermark have come so far."""
        if watermark is not None:
            self._highest[node] = max(watermark, self._highest.get(node, watermark))

    def follow(self, node: PhysicalNode, bench: Bench) -> None:
        """The kernel of a node is told how far its inputs have come, with the rows that they give."""
        self._benches[node] = bench
        bench.clock = partial(self.advance, node)

    def advance(self, node: PhysicalNode, before: BatchTime) -> BatchTime:
        reached = MAX_WATERMARK if self.has_ended else self._least(node)
        known = [time for time in (reached, before.watermark) if time is not None]
        return BatchTime(self.now, max(known, default=None), before.watermark)

    def _least(self, node: PhysicalNode) -> int | None:
        """Of the inputs."""
        found = [self._watermark(below) for below in node.inputs]
        known = [time for time in found if time is not None]
        return min(known) if known and len(known) == len(found) else None

    def _watermark(self, node: PhysicalNode) -> int | None:
        if isinstance(node.operator, AssignWatermark):
            return self._highest.get(node)
        if node not in self._benches:
            return self._least(node)
        bench = self._benches[node]
        own = bench.time.watermark
        return None if own is None else own - bench.watermark_delay_ms
