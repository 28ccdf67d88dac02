"""Session windows: rows of a group belong together as long as none is further from the next than a gap.

Rows wait until their session has ended, and are then emitted with its bounds. What follows, an aggregate for example,
sees the window close in the same batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import polars as pl
import pyarrow as pa

from millstream.changelog import KIND
from millstream.kernels.entries import NUMBER
from millstream.kernels.operator import ORDER, ROWS, StateTableSpec
from millstream.kernels.session_kernel import DUE, END, GROUP_HASH, SESSIONS, START, TIMERS, SessionKernel
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.kernels.operator import OpenTable, Parts

WINDOW_START: Final = "window_start"
WINDOW_END: Final = "window_end"
WINDOW_TIME: Final = "window_time"


@dataclass(frozen=True, slots=True)
class SessionOperator:
    """No row of the input is ever retracted. The output has the bounds of the window behind the columns of `schema`."""

    inputs: ClassVar = (ROWS,)
    needs_time: ClassVar = True
    watermark_delay_ms: ClassVar = 0

    keys: tuple[str, ...]
    time: str
    gap: int
    """In milliseconds."""
    schema: pa.Schema
    by_clock: bool = False
    """Whether the time is that of processing."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    @property
    def bounds(self) -> tuple[str, str, str]:
        return (WINDOW_START, WINDOW_END, WINDOW_TIME)

    @property
    def empty_rows(self) -> pa.Table:
        """What `combine` gives of none."""
        return pa.schema([pa.field(HASH, pa.int64()), *self.schema, pa.field(NUMBER, pa.int64())]).empty_table()

    @property
    def output_schema(self) -> pa.Schema:
        bounds = [pa.field(name, pa.timestamp("us")) for name in (WINDOW_START, WINDOW_END)]
        last = pa.field(WINDOW_TIME, self.schema.field(self.time).type)
        return pa.schema([*self.schema, *bounds, last, pa.field(KIND, pa.int8())])

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        """The rows of open sessions, their bounds, and when which groups have to be looked at."""
        start, end, number, group = (pa.field(name, pa.int64()) for name in (START, END, NUMBER, GROUP_HASH))
        keys = tuple(self.schema.field(key) for key in self.keys)
        return {
            ROWS: StateTableSpec((number,), tuple(self.schema)),
            SESSIONS: StateTableSpec((*keys, start), (end,)),
            TIMERS: StateTableSpec((pa.field(DUE, pa.timestamp("us")), group), ()),
        }

    def hashes(self, _: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.keys}

    def needs_order(self, _: str) -> bool:
        return True

    def combine(self, _: str, batch: pa.Table) -> Parts:
        """Rows without a time belong to no window."""
        rows = pl.DataFrame(batch).filter(pl.col(self.time).is_not_null())
        return {ROWS: rows.select(HASH, *self.columns, pl.col(ORDER).alias(NUMBER)).to_arrow()}

    def open(self, open_table: OpenTable) -> SessionKernel:
        return SessionKernel(self, open_table)
