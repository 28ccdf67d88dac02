"""INTERSECT and EXCEPT of two changelogs, with and without ALL, maintained incrementally.

How often a row is in the result follows from how often it is on each side alone: one table keeps both counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.kernels.changes import count_change, to_arrow
from millstream.kernels.entries import numbers_of
from millstream.kernels.multiset import COUNT
from millstream.kernels.operator import LEFT, RIGHT, ROWS, StateTableSpec, StepResult
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from millstream.kernels.operator import BatchTime, OpenTable, Parts
    from millstream.state.state_table import StateTable

    Counts = NDArray[np.int64]

_COUNT_OF: Final = {LEFT: "__left", RIGHT: "__right"}
"""The columns with the counts of each side."""
_LARGEST_TABLE: Final = 1 << 17
"""Rows in one table of changes: with ALL, a row that is retracted once on one side may go many times."""


@dataclass(frozen=True, slots=True)
class SetOperator:
    """Both inputs have the columns of `schema`; rows are compared as a whole, and NULL equals NULL.

    An input that is not insert-only has `__kind` and the old row of each update. The result has only -D and +I; in a
    batch all -D come first.
    """

    inputs: ClassVar = (LEFT, RIGHT)
    needs_time: ClassVar = False
    watermark_delay_ms: ClassVar = 0

    schema: pa.Schema
    is_except: bool
    """EXCEPT rather than INTERSECT."""
    is_distinct: bool
    """Without ALL."""
    expires: bool = False
    """State has a TTL: a row that comes again counts as written, even if no count changes."""
    repeats: bool = False
    """A row of the result that is written again is given again, as -D and +I, so that readers' state lives as long."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    @property
    def output_schema(self) -> pa.Schema:
        return self.schema.append(pa.field(KIND, pa.int8()))

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        counts = tuple(pa.field(name, pa.int64()) for name in _COUNT_OF.values())
        return {ROWS: StateTableSpec(tuple(self.schema), counts)}

    def hashes(self, _: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.columns}

    def needs_order(self, _: str) -> bool:
        return False

    def combine(self, name: str, batch: pa.Table) -> Parts:
        """Each row once, with the change of its count."""
        rows = pl.DataFrame(batch)
        counted = rows.select(HASH, *self.columns, count_change(rows).alias(COUNT))
        return {name: _sum_counts(counted, self.columns, [COUNT], keeps_zero=self.expires).to_arrow()}

    def open(self, open_table: OpenTable) -> SetKernel:
        return SetKernel(self, open_table(ROWS))

    def multiplicity(self, left: Counts, right: Counts) -> Counts:
        """How often rows are in the result that are so often on each side."""
        if self.is_distinct:
            return ((left > 0) & ((right > 0) ^ self.is_except)).astype(np.int64)
        return np.maximum(left - right, 0) if self.is_except else np.minimum(left, right)


class SetKernel:
    """One bucket, opened for one batch. Counts never become negative."""

    def __init__(self, spec: SetOperator, table: StateTable) -> None:
        self._spec = spec
        self._table = table

    def step(self, parts: Parts, _: BatchTime) -> StepResult:
        rows = self._changed_rows(parts)
        found = self._table.lookup(rows.select(HASH, *self._spec.columns).to_arrow())
        before = [numbers_of(found.values.column(name), found.mask) for name in _COUNT_OF.values()]
        summed = [count + rows[name].to_numpy() for count, name in zip(before, _COUNT_OF.values(), strict=True)]
        after = [np.maximum(count, 0) for count in summed]
        ignored = sum(int((free - count).sum()) for free, count in zip(after, summed, strict=True))
        self._write(rows, before, after, found.mask)
        return StepResult(self._changes(rows, before, after), ignored)

    def _changed_rows(self, parts: Parts) -> pl.DataFrame:
        """What the batch adds to the counts of both sides, each row once."""
        sides = [
            pl.DataFrame(parts[side]).with_columns(
                (pl.col(COUNT) if side == name else pl.lit(0, pl.Int64)).alias(count)
                for name, count in _COUNT_OF.items()
            )
            for side in self._spec.inputs
            if side in parts
        ]
        counts = list(_COUNT_OF.values())
        rows = pl.concat(sides).select(HASH, *self._spec.columns, *counts)
        return _sum_counts(rows, self._spec.columns, counts, keeps_zero=self._spec.expires)

    def _write(
        self, rows: pl.DataFrame, before: Sequence[Counts], after: Sequence[Counts], existed: NDArray[np.bool_]
    ) -> None:
        exists = (after[0] > 0) | (after[1] > 0)
        is_written = (before[0] != after[0]) | (before[1] != after[1]) | (exists & self._spec.expires)
        counted = rows.with_columns(pl.Series(name, each) for name, each in zip(_COUNT_OF.values(), after, strict=True))
        written = counted.with_columns(pl.Series(DEAD, ~exists)).filter(pl.Series(is_written))
        self._table.put(written.to_arrow(), replaced=int((existed & is_written).sum()))

    def _changes(self, rows: pl.DataFrame, before: Sequence[Counts], after: Sequence[Counts]) -> Iterator[pa.Table]:
        was, is_ = self._spec.multiplicity(*before), self._spec.multiplicity(*after)
        again = ((was == is_) & (is_ > 0) & self._spec.repeats).astype(np.int64)
        yield from self._repeat(rows, np.maximum(was - is_, 0) + again, RowKind.DELETE)
        yield from self._repeat(rows, np.maximum(is_ - was, 0) + again, RowKind.INSERT)

    def _repeat(self, rows: pl.DataFrame, times: Counts, kind: RowKind) -> Iterator[pa.Table]:
        places = np.repeat(np.arange(rows.height), times)
        of_kind = rows.with_columns(pl.lit(kind, dtype=pl.Int8).alias(KIND))
        for start in range(0, len(places), _LARGEST_TABLE):
            yield to_arrow(of_kind[places[start : start + _LARGEST_TABLE]], self._spec.output_schema)


def _sum_counts(rows: pl.DataFrame, columns: Sequence[str], counts: Sequence[str], *, keeps_zero: bool) -> pl.DataFrame:
    """Merges equal rows, adding up their counts; rows with counts of zero are left out, unless `keeps_zero`."""
    repeated = rows[HASH].is_duplicated()
    if repeated.any():  # rows with different hashes differ: only the others are compared
        sums = rows.filter(repeated).group_by(HASH, *columns).agg(pl.col(counts).sum())
        rows = pl.concat([rows.filter(~repeated), sums])
    changed = rows if keeps_zero else rows.filter(pl.any_horizontal(pl.col(counts) != 0))
    return changed.rechunk()  # else Arrow may fail to take over maps, where one chunk is a slice
