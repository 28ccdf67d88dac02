"""The inner equi-join of two changelogs, maintained incrementally.

Each side stores its rows with their counts, so that all rows of a join key are adjacent. A batch reads, from each side,
its own rows and the rows of the keys that changed on the other side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl
import pyarrow as pa

from millstream.changelog import KIND
from millstream.kernels.changes import is_added
from millstream.kernels.join_kernel import JoinKernel
from millstream.kernels.multiset import COUNT
from millstream.kernels.operator import LEFT, RIGHT, StateTableSpec
from millstream.kernels.row_counts import ROW_HASH, sum_counts
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.kernels.operator import OpenTable, Parts


@dataclass(frozen=True, slots=True)
class JoinSide:
    """All columns of an input, and which of them are the join key."""

    schema: pa.Schema
    keys: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.names)


@dataclass(frozen=True, slots=True)
class JoinOperator:
    """Joins rows whose keys are equal, in order, and not NULL.

    The two sides have columns with different names, and keys of the same types. An input that is not insert-only has
    `__kind` and the old row of each update. The result has only -D and +I, and in a batch all -D come first: rows that
    a batch did not change are left out, and the remaining half of an update need not have a partner.
    """

    inputs: ClassVar = (LEFT, RIGHT)
    needs_time: ClassVar = False

    left: JoinSide
    right: JoinSide
    expires: bool = False
    """State has a TTL: a row that is retracted and added again counts as written, and its results are emitted again."""

    def __post_init__(self) -> None:
        assert set(self.left.columns).isdisjoint(self.right.columns), "columns of the same name on both sides"
        assert self.left.keys, "no key"
        types = [[side.schema.field(key).type for key in side.keys] for side in (self.left, self.right)]
        assert types[0] == types[1], f"keys of different types: {types}"

    def side(self, name: str) -> JoinSide:
        return {LEFT: self.left, RIGHT: self.right}[name]

    @property
    def output_schema(self) -> pa.Schema:
        return pa.schema([*self.left.schema, *self.right.schema, pa.field(KIND, pa.int8())])

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        count = pa.field(COUNT, pa.int64())
        return {name: StateTableSpec(tuple(self.side(name).schema), (count,)) for name in self.inputs}

    def hashes(self, name: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.side(name).keys, ROW_HASH: self.side(name).columns}

    def part_schema(self, name: str) -> pa.Schema:
        hashes = (pa.field(column, pa.int64()) for column in self.hashes(name))
        return pa.schema([*hashes, *self.side(name).schema, pa.field(COUNT, pa.int64())])

    def needs_order(self, _: str) -> bool:
        return False

    def combine(self, name: str, batch: pa.Table) -> Parts:
        """Each row once, with the change of its count. A key with a NULL never has a partner."""
        side = self.side(name)
        rows = pl.DataFrame(batch).drop_nulls(list(side.keys))
        comes = is_added(rows)
        count = pl.lit(1) if comes is None else pl.when(comes).then(1).otherwise(-1)
        counted = rows.select(HASH, ROW_HASH, *side.columns, count.cast(pl.Int64).alias(COUNT))
        return {name: sum_counts(counted, side.columns, keeps_zero=self.expires).to_arrow()}

    def open(self, open_table: OpenTable) -> JoinKernel:
        return JoinKernel(self, open_table)
