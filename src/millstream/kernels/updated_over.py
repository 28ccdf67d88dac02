"""OVER whose results are kept up to date: over rows that may be retracted, or come between others.

All rows are kept. The partitions that a batch reaches are computed as they were and as they are; what differs is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.kernels.changes import count_change, to_arrow
from millstream.kernels.entries import LOWER_HALF
from millstream.kernels.frames import PlacedRows
from millstream.kernels.multiset import COUNT
from millstream.kernels.operator import ROWS, StateTableSpec, StepResult
from millstream.kernels.over_calls import result_fields
from millstream.kernels.row_counts import AFTER, BEFORE, ROW_HASH, RowCounts, sum_counts
from millstream.kernels.row_order import RowOrder, SortKey
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from millstream.kernels.operator import BatchTime, Kernel, OpenTable, Parts
    from millstream.kernels.over_calls import FrameCall, Numbering, Shift
    from millstream.kernels.row_order import SortedRows
    from millstream.state.state_table import StateTable


@dataclass(frozen=True, slots=True)
class UpdatedOverOperator:
    """`schema` has all columns; of them `keys` are those of the partition.

    Of rows that are equal in the order, the other columns decide which comes first, from left to right.
    """

    inputs: ClassVar = (ROWS,)
    needs_time: ClassVar = False
    watermark_delay_ms: ClassVar = 0

    schema: pa.Schema
    keys: tuple[str, ...]
    order: tuple[SortKey, ...]
    calls: tuple[FrameCall, ...] = ()
    shifts: tuple[Shift, ...] = ()
    numberings: tuple[Numbering, ...] = ()
    expires: bool = False
    """State has a TTL: the rows of a partition are kept for as long as rows of it change."""
    repeats: bool = False
    """Rows of such a partition are emitted again, which keeps the state of readers alive."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        return {field.name: field.type for field in self.schema}

    @property
    def row_order(self) -> RowOrder:
        placed = {*self.keys, *(key.name for key in self.order)}
        return RowOrder(self.keys, (*self.order, *(SortKey(name) for name in self.columns if name not in placed)))

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        return {ROWS: StateTableSpec(tuple(self.schema), (pa.field(COUNT, pa.int64()),))}

    @property
    def output_schema(self) -> pa.Schema:
        results = result_fields(self.types, self.calls, self.shifts, self.numberings)
        return pa.schema([*self.schema, *results, pa.field(KIND, pa.int8())])

    def hashes(self, _: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.keys, ROW_HASH: self.columns}

    def needs_order(self, _: str) -> bool:
        return False

    def combine(self, _: str, batch: pa.Table) -> Parts:
        """Each row once, with the change of its count."""
        rows = pl.DataFrame(batch)
        counted = rows.select(HASH, ROW_HASH, *self.columns, count_change(rows).alias(COUNT))
        return {ROWS: sum_counts(counted, self.columns, keeps_zero=self.expires).to_arrow()}

    def open(self, open_table: OpenTable) -> Kernel:
        return UpdatedOverKernel(self, open_table(ROWS))


class UpdatedOverKernel:
    def __init__(self, spec: UpdatedOverOperator, table: StateTable) -> None:
        self._spec = spec
        self._table = table
        self._counts = RowCounts(spec.columns, table, expires=spec.expires)

    def step(self, parts: Parts, _: BatchTime) -> StepResult:
        rows, ignored = self._update(pl.DataFrame(parts[ROWS]))
        ordered = self._spec.row_order.sort(rows)
        copies = ordered.rows.select(pl.max_horizontal(BEFORE, AFTER)).to_series().to_numpy()
        expanded = _repeat(ordered, copies)
        number = np.arange(expanded.rows.height) - np.repeat(np.cumsum(copies) - copies, copies)
        was = number < expanded.rows[BEFORE].to_numpy()
        remains = number < expanded.rows[AFTER].to_numpy()
        old, new = self._results(expanded, was), self._results(expanded, remains)
        return StepResult((self._changes(expanded.rows, old, new, was, remains),), ignored)

    def _update(self, changes: pl.DataFrame) -> tuple[pl.DataFrame, int]:
        """All rows of the partitions that a batch reaches, with how often each was and is there."""
        spec = self._spec
        counted = self._counts.add(sum_counts(changes, spec.columns, keeps_zero=spec.expires))
        hashes = counted.rows[HASH]
        columns = [pl.lit(0, dtype=pl.Int64).alias(HASH), *spec.columns, BEFORE, AFTER]
        others = [rows.select(columns) for rows in self._counts.others(hashes, counted.rows)]
        if spec.expires:  # the rows of a partition expire together
            low = np.unique(hashes.to_numpy() & ~LOWER_HALF)
            stored = pl.DataFrame(self._table.scan(low, low | LOWER_HALF))
            kept = stored.with_columns(pl.lit(value=False).alias(DEAD))
            self._table.put(kept.to_arrow(), replaced=kept.height)
        self._counts.write(counted.rows.filter(self._counts.is_written))
        return pl.concat([counted.rows.select(columns), *others]), counted.ignored

    def _results(self, expanded: SortedRows, mask: NDArray[np.bool_]) -> pl.DataFrame:
        """What OVER computes for these rows; for others anything."""
        spec = self._spec
        there = expanded.filter(mask)
        rows = PlacedRows.with_peers(there, [key.name for key in spec.order])
        at = np.arange(there.rows.height)
        results = pl.DataFrame(
            [
                *(call.compute(rows, at, spec.types) for call in spec.calls),
                *(shift.compute(rows, at, there.rows) for shift in spec.shifts),
                *(numbering.compute(rows) for numbering in spec.numberings),
            ]
        )
        places = np.cumsum(mask) - 1
        return results[places.clip(0)] if len(at) else results.clear(len(mask))

    def _changes(
        self,
        rows: pl.DataFrame,
        old: pl.DataFrame,
        new: pl.DataFrame,
        was: NDArray[np.bool_],
        remains: NDArray[np.bool_],
    ) -> pa.Table:
        """-D, then -U and +U of rows that stay, then +I."""
        differs = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"__new_{name}")) for name in old.columns)
        both = old.hstack(new.rename(lambda name: f"__new_{name}"))
        stays = was & remains & (both.select(differs).to_series().to_numpy() | self._spec.repeats)
        images = [
            rows.select(self._spec.columns).hstack(results).with_columns(pl.lit(kind, dtype=pl.Int8).alias(KIND))
            for results, kind in ((old, RowKind.UPDATE_BEFORE), (new, RowKind.UPDATE_AFTER))
        ]
        before, after = images
        pairs = pl.concat([image.filter(pl.Series(stays)).with_row_index("__at") for image in images])
        sides = [
            before.filter(pl.Series(was & ~remains)).with_columns(pl.lit(RowKind.DELETE, dtype=pl.Int8).alias(KIND)),
            pairs.sort("__at", maintain_order=True).drop("__at"),
            after.filter(pl.Series(remains & ~was)).with_columns(pl.lit(RowKind.INSERT, dtype=pl.Int8).alias(KIND)),
        ]
        return to_arrow(pl.concat(sides), self._spec.output_schema)


def _repeat(ordered: SortedRows, copies: NDArray[np.int64]) -> SortedRows:
    """Each row so many times."""
    groups = np.repeat(ordered.groups, copies)
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    return type(ordered)(ordered.rows[np.repeat(np.arange(ordered.rows.height), copies)], starts)
