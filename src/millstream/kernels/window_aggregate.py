"""GROUP BY a window and other columns: a group is emitted once, when event time has passed the end of its window.

A group is maintained as that of any aggregate until then; then its state is deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from millstream.kernels.operator import ROWS
from millstream.kernels.window_aggregate_kernel import WindowAggregateKernel

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from millstream.kernels.aggregate import AggregateOperator
    from millstream.kernels.operator import OpenTable, Parts, StateTableSpec


@dataclass(frozen=True, slots=True)
class WindowAggregateOperator:
    inputs: ClassVar = (ROWS,)
    needs_time: ClassVar = True
    watermark_delay_ms: ClassVar = 0

    groups: AggregateOperator
    end: str
    """The key that is the end of the window."""
    by_clock: bool = False
    """Whether the windows are of processing time."""

    @property
    def schema(self) -> pa.Schema:
        return self.groups.schema

    @property
    def output_schema(self) -> pa.Schema:
        return self.groups.output_schema

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        return self.groups.state_tables

    def hashes(self, input_name: str) -> Mapping[str, tuple[str, ...]]:
        return self.groups.hashes(input_name)

    def needs_order(self, input_name: str) -> bool:
        return self.groups.needs_order(input_name)

    def combine(self, input_name: str, batch: pa.Table) -> Parts:
        return self.groups.combine(input_name, batch)

    def open(self, open_table: OpenTable) -> WindowAggregateKernel:
        return WindowAggregateKernel(self, open_table)
