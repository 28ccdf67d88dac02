"""The partitions of one bucket of OVER, opened for one batch: rows wait for their time, then meet those before them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from millstream.changelog import KIND, RowKind
from millstream.kernels.changes import to_arrow
from millstream.kernels.earlier_rows import ENDS, KEPT, PARTITION, TIME, EarlierRows
from millstream.kernels.entries import NUMBER
from millstream.kernels.operator import MAX_WATERMARK, ROWS, StepResult
from millstream.kernels.rows_to_come import RowsToCome
from millstream.kernels.running_totals import GROUPS, SEEN, TIME_COUNT, RunningTotals

if TYPE_CHECKING:
    from millstream.kernels.operator import BatchTime, OpenTable, Parts
    from millstream.kernels.over import OverOperator

__all__ = ["ENDS", "GROUPS", "KEPT", "PARTITION", "SEEN", "TIME", "TIME_COUNT", "WAITING", "OverKernel"]

WAITING: Final = "waiting"


class OverKernel:
    def __init__(self, spec: OverOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._waiting = None if spec.time is None else RowsToCome(spec.columns, spec.time, open_table(WAITING))
        self._parts: list[EarlierRows | RunningTotals] = []
        if spec.keeps_rows:
            ends = None if spec.kept_ms is None else open_table(ENDS)
            self._parts.append(EarlierRows(spec, open_table(KEPT), ends))
        if spec.keeps_groups:
            seen = [open_table(name) for name in spec.state_tables if name.startswith(SEEN)]
            self._parts.append(RunningTotals(spec, open_table(GROUPS), seen))

    def step(self, parts: Parts, time: BatchTime) -> StepResult:
        arrived = pl.DataFrame(parts[ROWS]) if ROWS in parts else None
        if self._waiting is None:
            assert arrived is not None
            due, late, horizon = arrived.with_columns(pl.lit(time.now, dtype=pl.Int64).alias(TIME)), 0, time.now
        else:
            due, late = self._waiting.take(arrived, time)
            if time.watermark is None:
                return StepResult((), late=late)
            # Rows to come are later than the watermark.
            horizon = min(time.watermark, MAX_WATERMARK - 1) + 1
        for part in self._parts:
            due = part.add(due, horizon)
        if not due.height:
            return StepResult((), late=late)
        rows = due.sort(TIME, NUMBER).with_columns(pl.lit(RowKind.INSERT, dtype=pl.Int8).alias(KIND))
        return StepResult((to_arrow(rows, self._spec.output_schema),), late=late)
