"""The temporal join: each left row with the version that the row of its key had at the time of the left row.

A left row waits until event time has passed it, so that all versions up to then are known. Nothing is retracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.kernels.event_rows import FOR_EVER, NUMBER, TIME, has_null, milliseconds
from millstream.kernels.operator import LEFT, ORDER, RIGHT, StateTableSpec
from millstream.kernels.temporal_join_kernel import DUE, KEY_HASH, LONELY, TemporalJoinKernel
from millstream.kernels.versions import DELETED
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.kernels.join import JoinSide, PairCondition
    from millstream.kernels.operator import Kernel, OpenTable, Parts


@dataclass(frozen=True, slots=True)
class TemporalJoinOperator:
    """The right side has upserts and deletions by its key, and the time from which each holds.

    A deletion without a time holds from the time of the newest version of its key.
    """

    inputs: ClassVar = (LEFT, RIGHT)
    needs_time: ClassVar = True
    watermark_delay_ms: ClassVar = 0

    left: JoinSide
    right: JoinSide
    times: tuple[str, str]
    """The column with the event time of each side."""
    keeps_left: bool = False
    """Whether the result has left rows for which there is no version."""
    condition: PairCondition | None = None
    """What else must be true of a version; None where no left row is kept: a filter above does the same."""

    def __post_init__(self) -> None:
        assert set(self.left.columns).isdisjoint(self.right.columns), "columns of the same name on both sides"
        assert self.condition is None or self.keeps_left

    def side(self, name: str) -> JoinSide:
        return {LEFT: self.left, RIGHT: self.right}[name]

    def time_of(self, name: str) -> str:
        return self.times[self.inputs.index(name)]

    @property
    def output_schema(self) -> pa.Schema:
        return pa.schema([*self.left.schema, *self.right.schema, pa.field(KIND, pa.int8())])

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        """Left rows by time, versions by key, and by time the keys that have a version from then on."""
        number, key_hash = pa.field(NUMBER, pa.int64()), pa.field(KEY_HASH, pa.int64())
        keys = [self.right.schema.field(key) for key in self.right.keys]
        others = [field for field in self.right.schema if field.name not in self.right.keys]
        tables = {
            LEFT: ((number,), (key_hash, *self.left.schema)),
            RIGHT: ((*keys, pa.field(TIME, pa.int64())), (*others, pa.field(DELETED, pa.bool_()))),
            DUE: ((key_hash,), ()),
        }
        return {name: StateTableSpec(*fields, FOR_EVER) for name, fields in tables.items()}

    def hashes(self, name: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.side(name).keys}

    def needs_order(self, name: str) -> bool:
        return name == RIGHT

    def combine(self, name: str, batch: pa.Table) -> Parts:
        """Without what can have no partner; left rows of that kind go anywhere, as there may be very many."""
        side = self.side(name)
        rows = batch.select([HASH, *side.columns])
        rows = rows.append_column(TIME, milliseconds(batch.column(self.time_of(name))))
        if name == RIGHT:
            return {RIGHT: self._versions(rows, batch)}
        is_lonely = has_null(rows, [*side.keys, TIME])
        parts = {LEFT: rows.filter(pa.array(~is_lonely)) if is_lonely.any() else rows}
        if is_lonely.any() and self.keeps_left:
            lonely = rows.filter(pa.array(is_lonely)).drop_columns([TIME])
            parts[LONELY] = lonely.set_column(0, HASH, pa.array(np.arange(lonely.num_rows)))
        return parts

    def _versions(self, rows: pa.Table, batch: pa.Table) -> pa.Table:
        """The old row of an update is none: the new one replaces it."""
        has_kinds = KIND in batch.column_names
        inserts = pl.repeat(RowKind.INSERT, rows.num_rows, dtype=pl.Int8, eager=True)
        kinds = pl.Series(batch.column(KIND)) if has_kinds else inserts
        versions = pl.DataFrame(rows.append_column(ORDER, batch.column(ORDER))).with_columns(
            (kinds == RowKind.DELETE).alias(DELETED)
        )
        is_version = (kinds != RowKind.UPDATE_BEFORE) & (versions[TIME].is_not_null() | versions[DELETED])
        return versions.filter(is_version).drop_nulls(list(self.right.keys)).to_arrow()

    def open(self, open_table: OpenTable) -> Kernel:
        return TemporalJoinKernel(self, {name: open_table(name) for name in self.state_tables})
