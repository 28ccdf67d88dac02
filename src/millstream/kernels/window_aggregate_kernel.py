"""The windows of one bucket, opened for one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from millstream.aggregates.accumulators import ROW_COUNT
from millstream.changelog import KIND, RowKind
from millstream.kernels.aggregate_kernel import GROUPS, AggregateKernel
from millstream.kernels.changes import to_arrow
from millstream.kernels.entries import GROUP
from millstream.kernels.open_windows import beside_stored, last_closed, may_close, part_by_window, time_of_windows
from millstream.kernels.operator import StepResult
from millstream.kernels.slice_table import SliceTable

if TYPE_CHECKING:
    import pyarrow as pa

    from millstream.kernels.operator import BatchTime, OpenTable, Parts
    from millstream.kernels.window_aggregate import WindowAggregateOperator


class WindowAggregateKernel:
    def __init__(self, spec: WindowAggregateOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._slices = SliceTable(open_table(GROUPS), spec.end)
        self._groups = AggregateKernel(spec.groups, open_table, self._slices)

    def step(self, parts: Parts, time: BatchTime) -> StepResult:
        time = time_of_windows(time, by_clock=self._spec.by_clock)
        late, ignored, closing = 0, 0, None
        if GROUPS in parts:
            merged = part_by_window(self._groups.merge(pl.DataFrame(parts[GROUPS])), self._spec.end, time)
            late = int(merged.late[ROW_COUNT].abs().sum())
            frame = self._groups.apply(pl.concat([merged.open, merged.closing]), parts)
            ignored = self._groups.count_ignored(frame)
            # The groups of windows that close go without having been written.
            self._groups.write(frame.head(merged.open.height))
            closing = frame.tail(merged.closing.height)
        if time.watermark is None or not may_close(time):
            return StepResult((), ignored, late)
        return StepResult((self._close(time.watermark, closing),), ignored, late)

    def _close(self, watermark: int, closing: pl.DataFrame | None) -> pa.Table:
        stored = self._slices.up_to(last_closed(watermark))
        self._slices.remove(stored)
        rows = stored
        if closing is not None:
            rows = beside_stored(closing, stored).unique(self._spec.groups.keys, keep="first", maintain_order=True)
        rows = rows.sort(self._spec.end, maintain_order=True).with_row_index(GROUP)
        found = self._groups.read(rows.filter(pl.col(ROW_COUNT) > 0))
        results = found.with_columns(pl.lit(RowKind.INSERT, dtype=pl.Int8).alias(KIND))
        self._groups.clear(rows)
        return to_arrow(results, self._spec.output_schema)
