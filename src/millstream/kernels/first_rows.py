"""The first rows of each group to arrive: those that are in the result stay there, so only their number is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from millstream.changelog import KIND, RowKind
from millstream.kernels.changes import to_arrow
from millstream.kernels.entries import numbers_of
from millstream.kernels.multiset import COUNT
from millstream.kernels.operator import ROWS, StepResult
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from millstream.kernels.operator import BatchTime, OpenTable, Parts
    from millstream.kernels.rank import RankOperator


class FirstRowsKernel:
    """The groups of one bucket, opened for one batch."""

    def __init__(self, spec: RankOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._counts = open_table(ROWS)

    def step(self, parts: Parts, _: BatchTime) -> StepResult:
        arrived = self._spec.row_order.sort(pl.DataFrame(parts[ROWS]))
        groups = arrived.rows[arrived.starts].select(HASH, *self._spec.keys)
        found = self._counts.lookup(groups.to_arrow())
        counted = numbers_of(found.values.column(COUNT), found.mask)
        places = arrived.places + counted[arrived.groups]
        chosen = places < self._spec.limit
        after = counted + arrived.sum_by_group(chosen.astype(np.int64))
        written = groups.with_columns(pl.Series(COUNT, after), pl.lit(value=False).alias(DEAD))
        changed = written.filter(pl.Series(after > counted))
        self._counts.put(changed.to_arrow(), replaced=int((found.mask & (after > counted)).sum()))
        number = [] if self._spec.rank is None else [pl.Series(self._spec.rank, places + 1)]
        rows = arrived.rows.with_columns(*number, pl.lit(RowKind.INSERT, dtype=pl.Int8).alias(KIND))
        return StepResult((to_arrow(rows.filter(pl.Series(chosen)), self._spec.output_schema),))
