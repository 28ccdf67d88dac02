"""The join of rows of the same window: both sides wait until it has ended, and are then joined once and for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl
import pyarrow as pa

from millstream.kernels.entries import NUMBER
from millstream.kernels.multiset import COUNT
from millstream.kernels.open_windows import beside_stored, last_closed, may_close, part_by_window, time_of_windows
from millstream.kernels.operator import LEFT, RIGHT, StateTableSpec, StepResult
from millstream.kernels.slice_table import SliceTable
from millstream.state.memory import MemoryPieces
from millstream.state.state_table import DEAD, HASH, StateTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.kernels.join import JoinOperator
    from millstream.kernels.operator import BatchTime, OpenTable, Parts


@dataclass(frozen=True, slots=True)
class WindowJoinOperator:
    """Both inputs are insert-only, and the ends of their windows are among the keys, in the same place."""

    inputs: ClassVar = (LEFT, RIGHT)
    needs_time: ClassVar = True
    watermark_delay_ms: ClassVar = 0

    join: JoinOperator
    left_end: str
    right_end: str
    by_clock: bool = False
    """Whether the windows are of processing time."""

    def end(self, name: str) -> str:
        return {LEFT: self.left_end, RIGHT: self.right_end}[name]

    @property
    def output_schema(self) -> pa.Schema:
        return self.join.output_schema

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        return {name: self._rows(name) for name in self.inputs}

    def _rows(self, name: str) -> StateTableSpec:
        schema, end = self.join.part_schema(name), self.end(name)
        values = tuple(field for field in schema if field.name not in (HASH, end))
        return StateTableSpec((schema.field(end), pa.field(NUMBER, pa.int64())), values)

    def hashes(self, name: str) -> Mapping[str, tuple[str, ...]]:
        return self.join.hashes(name)

    def needs_order(self, name: str) -> bool:
        return self.join.needs_order(name)

    def combine(self, name: str, batch: pa.Table) -> Parts:
        return self.join.combine(name, batch)

    def open(self, open_table: OpenTable) -> WindowJoinKernel:
        return WindowJoinKernel(self, open_table)


class WindowJoinKernel:
    """The windows of one bucket, opened for one batch."""

    def __init__(self, spec: WindowJoinOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._rows = {name: SliceTable(open_table(name), spec.end(name)) for name in spec.inputs}

    def step(self, parts: Parts, time: BatchTime) -> StepResult:
        time = time_of_windows(time, by_clock=self._spec.by_clock)
        late, closing = 0, dict[str, pl.DataFrame]()
        for name, table in self._rows.items():
            if name in parts:
                parted = part_by_window(pl.DataFrame(parts[name]), self._spec.end(name), time)
                late += int(parted.late[COUNT].sum())
                closing[name] = parted.closing
                _append(table, parted.open)
        if time.watermark is None or not may_close(time):
            return StepResult((), late=late)
        rows = {name: self._close(name, time.watermark, closing.get(name)) for name in self._rows}
        if not any(each.height for each in rows.values()):
            return StepResult((), late=late)
        joined = self._spec.join.open(self._open_empty)
        return StepResult(joined.step({name: each.to_arrow() for name, each in rows.items()}, time).changes, late=late)

    def _close(self, name: str, watermark: int, closing: pl.DataFrame | None) -> pl.DataFrame:
        table = self._rows[name]
        stored = table.up_to(last_closed(watermark))
        table.remove(stored)
        found = stored.select(self._spec.join.part_schema(name).names)
        return found if closing is None else beside_stored(closing, found)

    def _open_empty(self, name: str) -> StateTable:
        spec = self._spec.join.state_tables[name]
        return StateTable(spec.keys, spec.values, MemoryPieces())


def _append(table: SliceTable, rows: pl.DataFrame) -> None:
    if rows.height:
        first = table.take_numbers(rows.height)
        numbered = rows.with_columns((pl.int_range(pl.len()) + first).alias(NUMBER), pl.lit(value=False).alias(DEAD))
        table.put(numbered.to_arrow())
