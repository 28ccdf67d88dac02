"""One bucket of an inner join, opened for one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from millstream.changelog import RowKind
from millstream.kernels.join_pairs import Batch, PairJoiner
from millstream.kernels.operator import LEFT, RIGHT, StepResult
from millstream.kernels.row_counts import AFTER, BEFORE, RowCounts, sum_counts
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from millstream.kernels.join import JoinOperator
    from millstream.kernels.operator import BatchTime, OpenTable, Parts


class JoinKernel:
    def __init__(self, spec: JoinOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._pairs = PairJoiner(spec)
        self._tables = {
            name: RowCounts(spec.side(name).columns, open_table(name), expires=spec.expires) for name in spec.inputs
        }

    def step(self, parts: Parts, _: BatchTime) -> StepResult:
        written = {name: table.apply(counts_of(self._spec, name, parts)) for name, table in self._tables.items()}
        left = self._read(LEFT, written[LEFT].rows, written[RIGHT].rows[HASH])
        right = self._read(RIGHT, written[RIGHT].rows, written[LEFT].rows[HASH])
        for name, table in self._tables.items():
            table.write(written[name].rows)
        return StepResult(self._changes(left, right), sum(each.ignored for each in written.values()))

    def _read(self, name: str, written: pl.DataFrame, wanted: pl.Series) -> Batch:
        columns = [*self._spec.side(name).columns, BEFORE, AFTER]
        return Batch(written.select(columns), self._tables[name].others(wanted, written))

    def _changes(self, left: Batch, right: Batch) -> Iterator[pa.Table]:
        for kind in (RowKind.DELETE, RowKind.INSERT):
            yield from self._pairs.changes(kind, left, right)


def counts_of(spec: JoinOperator, name: str, parts: Parts) -> pl.DataFrame:
    """What the batch adds to the counts of a side's rows, each row once."""
    rows = parts[name] if name in parts else spec.part_schema(name).empty_table()
    return sum_counts(pl.DataFrame(rows), spec.side(name).columns, keeps_zero=spec.expires)
