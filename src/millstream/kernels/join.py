"""The join of two changelogs, maintained incrementally.

Each side stores its rows with their counts, so that all rows of a join key are adjacent. A batch reads, from each side,
its own rows and the rows of the keys that changed on the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import polars as pl
import pyarrow as pa

from millstream.changelog import KIND
from millstream.join_kinds import JoinKind
from millstream.kernels.changes import count_change, to_arrow
from millstream.kernels.join_kernel import JoinKernel
from millstream.kernels.multiset import COUNT
from millstream.kernels.operator import LEFT, RIGHT, StateTableSpec
from millstream.kernels.outer_join_kernel import OuterJoinKernel
from millstream.kernels.partners import KEYS, MARK, PARTNERS
from millstream.kernels.row_counts import ROW_HASH, sum_counts
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.kernels.operator import Kernel, OpenTable, Parts

Filtering: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class JoinSide:
    """All columns of an input, and which of them are the join key."""

    schema: pa.Schema
    keys: tuple[str, ...]
    ttl_ms: int | None = None
    """How long its rows live; see `StateTableSpec`."""
    insert_only: bool = False
    """No row is ever retracted."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.names)


@dataclass(frozen=True, slots=True)
class PairCondition:
    """What two rows with equal keys must satisfy to be partners."""

    columns: tuple[str, ...]
    """Those of both sides that it reads."""
    keep: Filtering
    """Passes on the pairs for which it is true, with all of their columns."""


@dataclass(frozen=True, slots=True)
class JoinOperator:
    """Joins rows whose keys are equal, in order, and not NULL; without keys, all rows.

    The two sides have columns with different names, and keys of the same types. An input that is not insert-only has
    `__kind` and the old row of each update. The result has only -D and +I, and in a batch all -D come first: rows that
    a batch did not change are left out, and the remaining half of an update need not have a partner.
    """

    inputs: ClassVar = (LEFT, RIGHT)
    needs_time: ClassVar = False
    watermark_delay_ms: ClassVar = 0

    left: JoinSide
    right: JoinSide
    expires: bool = False
    """State has a TTL: a row that is retracted and added again counts as written, and its results are emitted again."""
    kind: JoinKind = JoinKind.INNER
    condition: PairCondition | None = None
    """None for an inner join: a filter above it does the same."""

    def __post_init__(self) -> None:
        assert set(self.left.columns).isdisjoint(self.right.columns), "columns of the same name on both sides"
        types = [[side.schema.field(key).type for key in side.keys] for side in (self.left, self.right)]
        assert types[0] == types[1], f"keys of different types: {types}"
        assert self.condition is None or self.kind is not JoinKind.INNER
        is_bare = {*self.right.columns} == {*self.right.keys}
        assert is_bare or not self.stores_keys_only(RIGHT), "columns that nobody reads"

    def side(self, name: str) -> JoinSide:
        return {LEFT: self.left, RIGHT: self.right}[name]

    def keeps(self, name: str) -> bool:
        """Whether the result has the rows of a side that have no partner."""
        return self.kind.keeps_left if name == LEFT else self.kind.keeps_right

    def asks_for_partners(self, name: str) -> bool:
        """Whether it matters for a row of this side, apart from pairs, if it has a partner."""
        return self.keeps(name) or (self.kind is JoinKind.SEMI and name == LEFT)

    def counts_partners(self, name: str) -> bool:
        """Whether the rows of a side are stored with the number of their partners: not all of a key have the same."""
        return self.condition is not None and self.asks_for_partners(name)

    def appends(self, name: str) -> bool:
        """Whether the rows of a side are stored without a look at those that are there; none is ever written again."""
        return self.side(name).insert_only and not self.counts_partners(name) and not self.stores_keys_only(name)

    def counts_keys(self, name: str) -> bool:
        """Whether it is counted apart from the rows of a side how many of them have each key."""
        other = RIGHT if name == LEFT else LEFT
        return self.condition is None and self.kind.gives_pairs and self.asks_for_partners(other)

    def stores_keys_only(self, name: str) -> bool:
        return self.condition is None and not self.kind.gives_pairs and name == RIGHT

    @property
    def output_schema(self) -> pa.Schema:
        right = self.right.schema if self.kind.gives_pairs else ()
        mark = [pa.field(MARK, pa.bool_())] if self.kind is JoinKind.MARK else []
        return pa.schema([*self.left.schema, *right, *mark, pa.field(KIND, pa.int8())])

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        count, partners = pa.field(COUNT, pa.int64()), pa.field(PARTNERS, pa.int64())
        rows = {
            name: StateTableSpec(
                tuple(self.side(name).schema),
                (count, partners) if self.counts_partners(name) else (count,),
                self._longest_ttl_ms if self.stores_keys_only(name) else self.side(name).ttl_ms,
                COUNT if self.appends(name) else None,
            )
            for name in self.inputs
        }
        keys = {
            name + KEYS: StateTableSpec(
                tuple(map(self.side(name).schema.field, self.side(name).keys)), (count,), self._longest_ttl_ms
            )
            for name in self.inputs
            if self.counts_keys(name)
        }
        return rows | keys

    @property
    def _longest_ttl_ms(self) -> int | None:
        """Counts of keys say what was emitted for the rows of both sides, and outlive them."""
        ttls = [side.ttl_ms for side in (self.left, self.right) if side.ttl_ms is not None]
        return 0 if 0 in ttls else max(ttls, default=None)

    def hashes(self, name: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.side(name).keys, ROW_HASH: self.side(name).columns}

    def part_schema(self, name: str) -> pa.Schema:
        hashes = [pa.field(column, pa.int64()) for column in self.hashes(name)]
        count = [] if self.appends(name) else [pa.field(COUNT, pa.int64())]
        return pa.schema([*hashes, *self.side(name).schema, *count])

    def needs_order(self, _: str) -> bool:
        return False

    def combine(self, name: str, batch: pa.Table) -> Parts:
        """Each row once, with the change of its count, or, where rows are only added, as it is.

        A key with a NULL never has a partner.
        """
        side = self.side(name)
        if self.appends(name) and not any(batch.column(key).null_count for key in side.keys):
            return {name: batch.select(self.part_schema(name).names)}
        rows = self._spread(pl.DataFrame(batch), side.keys) if self.keeps(name) else _with_keys(batch, side.keys)
        if self.appends(name):
            return {name: to_arrow(rows, self.part_schema(name))}
        counted = rows.select(HASH, ROW_HASH, *side.columns, count_change(rows).alias(COUNT))
        return {name: sum_counts(counted, side.columns, keeps_zero=self.expires).to_arrow()}

    @staticmethod
    def _spread(rows: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
        """Rows whose key has a NULL go anywhere: in the bucket of their key there may be very many."""
        if not any(rows[key].null_count() for key in keys):
            return rows
        has_null = pl.any_horizontal(pl.col(key).is_null() for key in keys)
        return rows.with_columns(pl.when(has_null).then(ROW_HASH).otherwise(HASH).alias(HASH))

    def open(self, open_table: OpenTable) -> Kernel:
        return JoinKernel(self, open_table) if self.kind is JoinKind.INNER else OuterJoinKernel(self, open_table)


def _with_keys(batch: pa.Table, keys: tuple[str, ...]) -> pl.DataFrame:
    rows = pl.DataFrame(batch)
    return rows.drop_nulls(list(keys)) if keys else rows
