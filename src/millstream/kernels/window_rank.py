"""The first rows of each group of a window, in an order, emitted when the window has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.kernels.changes import to_arrow
from millstream.kernels.entries import NUMBER
from millstream.kernels.multiset import COUNT
from millstream.kernels.open_windows import beside_stored, last_closed, may_close, part_by_window, time_of_windows
from millstream.kernels.operator import ORDER, ROWS, StateTableSpec, StepResult
from millstream.kernels.slice_table import SliceTable
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.kernels.operator import BatchTime, OpenTable, Parts
    from millstream.kernels.rank import RankOperator


@dataclass(frozen=True, slots=True)
class WindowRankOperator:
    """No row of the input is ever retracted."""

    inputs: ClassVar = (ROWS,)
    needs_time: ClassVar = True
    watermark_delay_ms: ClassVar = 0

    rank: RankOperator
    end: str
    """The key that is the end of the window."""
    by_clock: bool = False
    """Whether the windows are of processing time."""

    def __post_init__(self) -> None:
        assert self.rank.insert_only

    @property
    def schema(self) -> pa.Schema:
        return self.rank.schema

    @property
    def output_schema(self) -> pa.Schema:
        return self.rank.output_schema

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        """Rows that may still be among the first, by their number in order of arrival."""
        values = tuple(field for field in self.schema if field.name != self.end)
        return {ROWS: StateTableSpec((self.schema.field(self.end), pa.field(NUMBER, pa.int64())), values)}

    def hashes(self, _: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.rank.keys}

    def needs_order(self, _: str) -> bool:
        return True

    def combine(self, _: str, batch: pa.Table) -> Parts:
        """The first rows of each group; the very first with the number of all, which may be late."""
        placed = pl.DataFrame(batch).select(HASH, *self.rank.columns, pl.col(ORDER).alias(NUMBER))
        ordered = self.rank.row_order.sort(placed)
        counts = np.where(ordered.places == 0, np.repeat(ordered.sizes, ordered.sizes), 0)
        first = ordered.rows.with_columns(pl.Series(COUNT, counts, dtype=pl.Int64))
        return {ROWS: first.filter(pl.Series(ordered.places < self.rank.limit)).to_arrow()}

    def open(self, open_table: OpenTable) -> WindowRankKernel:
        return WindowRankKernel(self, open_table)


class WindowRankKernel:
    """The windows of one bucket, opened for one batch."""

    def __init__(self, spec: WindowRankOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._rows = SliceTable(open_table(ROWS), spec.end)

    def step(self, parts: Parts, time: BatchTime) -> StepResult:
        time = time_of_windows(time, by_clock=self._spec.by_clock)
        late, closing = 0, None
        if ROWS in parts:
            arrived = pl.DataFrame(parts[ROWS])
            first = self._rows.take_numbers(arrived.height)
            numbered = arrived.with_columns(pl.col(NUMBER).rank("ordinal").cast(pl.Int64) + first)
            parted = part_by_window(numbered, self._spec.end, time)
            late, closing = int(parted.late[COUNT].sum()), parted.closing
            self._keep(parted.open)
        if time.watermark is None or not may_close(time):
            return StepResult((), late=late)
        return StepResult((self._close(time.watermark, closing),), late=late)

    def _keep(self, rows: pl.DataFrame) -> None:
        """Of each group the first, as far as they have come."""
        if not rows.height:
            return
        stored = self._rows.beside(rows)
        both = beside_stored(rows, stored).with_columns((pl.int_range(pl.len()) >= rows.height).alias(DEAD))
        ordered = self._spec.rank.row_order.sort(both)
        stays, was = pl.Series(ordered.places < self._spec.rank.limit), ordered.rows[DEAD]
        changed = ordered.rows.filter(stays != was)
        self._rows.put(changed.to_arrow(), replaced=int(changed[DEAD].sum()))

    def _close(self, watermark: int, closing: pl.DataFrame | None) -> pa.Table:
        stored = self._rows.up_to(last_closed(watermark))
        self._rows.remove(stored)
        rank = self._spec.rank
        ordered = rank.row_order.sort(stored if closing is None else beside_stored(closing, stored))
        number = [] if rank.rank is None else [pl.Series(rank.rank, ordered.places + 1, dtype=pl.Int64)]
        results = ordered.rows.with_columns(*number, pl.lit(RowKind.INSERT, dtype=pl.Int8).alias(KIND))
        return to_arrow(results.filter(pl.Series(ordered.places < rank.limit)), self._spec.output_schema)
