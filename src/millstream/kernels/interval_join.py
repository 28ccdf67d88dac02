"""The interval join: pairs of rows whose keys are equal and whose times are at most so far apart.

A row waits only as long as a partner may come, and nothing is ever retracted: a row that has found none by then is
given by itself, where the join keeps such rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from millstream.changelog import KIND
from millstream.join_kinds import JoinKind
from millstream.kernels.event_rows import FOR_EVER, NUMBER, TIME, has_null, milliseconds
from millstream.kernels.interval_join_kernel import IntervalJoinKernel
from millstream.kernels.operator import LEFT, RIGHT, StateTableSpec
from millstream.kernels.waiting_rows import LONELY, PLACE
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.kernels.join import JoinSide, PairCondition
    from millstream.kernels.operator import Kernel, OpenTable, Parts


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """How far the time of a left row may lie behind that of its partner, in milliseconds, ends included.

    `l.ts BETWEEN r.ts - INTERVAL '1' SECOND AND r.ts` is (-1000, 0).
    """

    lower: int
    upper: int

    @property
    def length(self) -> int:
        return max(self.upper - self.lower, 0)

    def partners(self, name: str) -> tuple[int, int]:
        """How much later than a row of a side its first and its last partner may be."""
        return (-self.upper, -self.lower) if name == LEFT else (self.lower, self.upper)

    def reach(self, name: str) -> int:
        return self.partners(name)[1]


@dataclass(frozen=True, slots=True)
class IntervalJoinOperator:
    """Joins rows of two insert-only inputs whose keys are equal, in order, and not NULL; without keys, all rows.

    The two sides have columns with different names, and keys of the same types. A late row is not dropped: it is joined
    with rows that still wait, and waits itself as long as a partner may come.
    """

    inputs: ClassVar = (LEFT, RIGHT)
    needs_time: ClassVar = True

    left: JoinSide
    right: JoinSide
    bounds: TimeBounds
    times: tuple[str, str]
    """The column with the event time of each side."""
    kind: JoinKind = JoinKind.INNER
    condition: PairCondition | None = None
    """None for an inner join: a filter above it does the same."""

    def __post_init__(self) -> None:
        assert set(self.left.columns).isdisjoint(self.right.columns), "columns of the same name on both sides"
        assert self.kind.gives_pairs, f"{self.kind} join"

    @property
    def watermark_delay_ms(self) -> int:
        """The row that is given last is one that waited in vain."""
        return max(self.bounds.reach(LEFT), self.bounds.reach(RIGHT), 0)

    def side(self, name: str) -> JoinSide:
        return {LEFT: self.left, RIGHT: self.right}[name]

    def time_of(self, name: str) -> str:
        return self.times[self.inputs.index(name)]

    def keeps(self, name: str) -> bool:
        """Whether the result has the rows of a side that have no partner."""
        return self.kind.keeps_left if name == LEFT else self.kind.keeps_right

    @property
    def output_schema(self) -> pa.Schema:
        return pa.schema([*self.left.schema, *self.right.schema, pa.field(KIND, pa.int8())])

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        number, time = pa.field(NUMBER, pa.int64()), pa.field(TIME, pa.int64())
        rows = {name: StateTableSpec((number,), (time, *self.side(name).schema), FOR_EVER) for name in self.inputs}
        lonely = StateTableSpec((number,), (pa.field(PLACE, pa.int64()),), FOR_EVER)
        return rows | {name + LONELY: lonely for name in self.inputs if self.keeps(name)}

    def hashes(self, name: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.side(name).keys}

    def needs_order(self, _: str) -> bool:
        return False

    def combine(self, name: str, batch: pa.Table) -> Parts:
        """The rows that may have partners; those that cannot go anywhere, as there may be very many."""
        side = self.side(name)
        rows = batch.select([HASH, *side.columns])
        rows = rows.append_column(TIME, milliseconds(batch.column(self.time_of(name))))
        is_lonely = has_null(rows, [*side.keys, TIME])
        parts = {name: rows.filter(pa.array(~is_lonely)) if is_lonely.any() else rows}
        if is_lonely.any() and self.keeps(name):
            lonely = rows.filter(pa.array(is_lonely)).drop_columns([TIME])
            parts[name + LONELY] = lonely.set_column(0, HASH, pa.array(np.arange(lonely.num_rows)))
        return parts

    def open(self, open_table: OpenTable) -> Kernel:
        lonely = {name: open_table(name + LONELY) for name in self.inputs if self.keeps(name)}
        return IntervalJoinKernel(self, {name: open_table(name) for name in self.inputs}, lonely)
