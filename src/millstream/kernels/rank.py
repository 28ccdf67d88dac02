"""The first rows of each group in an order, maintained incrementally: Top-N, deduplication and LIMIT.

Of inserts only the first rows of each group are kept: what is behind them never comes up. Of rows that may be retracted
all are kept, and the first of each group once more, so that a batch rarely has to read a whole group.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Final

import polars as pl
import pyarrow as pa

from millstream.changelog import KIND
from millstream.kernels.changes import count_change
from millstream.kernels.entries import NUMBER
from millstream.kernels.first_rows import FirstRowsKernel
from millstream.kernels.multiset import COUNT
from millstream.kernels.operator import ORDER, ROWS, StateTableSpec
from millstream.kernels.rank_kernel import HEADS, RankKernel
from millstream.kernels.row_counts import ROW_HASH, sum_counts
from millstream.kernels.row_order import RowOrder, SortKey
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.kernels.operator import Kernel, OpenTable, Parts

__all__ = ["Arrival", "RankOperator", "SortKey"]

_LEAST_RESERVE: Final = 10
_RESERVE_PER_ROW: Final = 2


class Arrival(Enum):
    """Which of rows that are equal in the order comes first, where arrival decides."""

    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class RankOperator:
    """`schema` has all columns, of which `keys` are those of the group.

    With an `arrival`, the later of equal rows comes last or first; otherwise their other columns decide. `rank` names
    the column for the row's number in its group, if it is wanted.

    A place of a group is updated if the number is wanted or the limit is 1. Otherwise rows come and go, -D before +I.
    """

    inputs: ClassVar = (ROWS,)
    needs_time: ClassVar = False
    watermark_delay_ms: ClassVar = 0

    keys: tuple[str, ...]
    order: tuple[SortKey, ...]
    schema: pa.Schema
    limit: int
    arrival: Arrival | None = None
    rank: str | None = None
    insert_only: bool = False
    """No row is ever retracted."""
    emits_before: bool = False
    """Whether an update is preceded by -U with the old row."""
    expires: bool = False
    """State has a TTL: the rows of a group are kept for as long as rows of the group arrive."""
    repeats: bool = False
    """Rows of such a group are emitted again, which keeps the state of readers alive."""

    def __post_init__(self) -> None:
        assert self.insert_only or self.arrival is None, "rows that are retracted have no order of arrival"
        assert self.limit > 0, "no rows"

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    @property
    def keeps_first(self) -> bool:
        """Rows that are in the result stay: it is enough to count them."""
        return self.insert_only and not self.order and self.arrival is Arrival.FIRST

    @property
    def goes_by_place(self) -> bool:
        return self.rank is not None or self.limit == 1

    @property
    def head(self) -> int:
        """How many rows of a group are at hand at most: where rows are retracted, others follow."""
        return self.limit if self.insert_only else self.limit + max(_LEAST_RESERVE, _RESERVE_PER_ROW * self.limit)

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name not in self.keys)

    @property
    def ties(self) -> tuple[SortKey, ...]:
        """What decides between rows that are equal in the order."""
        match self.arrival:
            case None:
                ordered = {key.name for key in self.order}
                others = tuple(SortKey(name) for name in self.values if name not in ordered)
                return (*others, SortKey(NUMBER)) if self.insert_only else others
            case arrival:
                return (SortKey(NUMBER, descending=arrival is Arrival.LAST),)

    @property
    def row_order(self) -> RowOrder:
        return RowOrder(self.keys, (*self.order, *self.ties))

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        keys = tuple(self.schema.field(name) for name in self.keys)
        values = tuple(self.schema.field(name) for name in self.values)
        count = pa.field(COUNT, pa.int64())
        if self.keeps_first:
            return {ROWS: StateTableSpec(keys, (count,))}
        if not self.insert_only:
            return {name: StateTableSpec(tuple(self.schema), (count,)) for name in (ROWS, HEADS)}
        number = (pa.field(NUMBER, pa.int64()),)
        return {ROWS: StateTableSpec(keys if self.limit == 1 else (*keys, *number), values)}

    @property
    def output_schema(self) -> pa.Schema:
        number = [] if self.rank is None else [pa.field(self.rank, pa.int64())]
        return pa.schema([*self.schema, *number, pa.field(KIND, pa.int8())])

    def hashes(self, _: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.keys} if self.insert_only else {HASH: self.keys, ROW_HASH: self.columns}

    def needs_order(self, _: str) -> bool:
        return self.insert_only

    def combine(self, _: str, batch: pa.Table) -> Parts:
        """Of inserts the first of each group; of changes each row once, with the change of its count."""
        rows = pl.DataFrame(batch)
        if self.insert_only:
            placed = rows.select(HASH, *self.columns, pl.col(ORDER).alias(NUMBER))
            return {ROWS: self.row_order.sort(placed).first(self.limit).to_arrow()}
        counted = rows.select(HASH, ROW_HASH, *self.columns, count_change(rows).alias(COUNT))
        return {ROWS: sum_counts(counted, self.columns, keeps_zero=self.expires).to_arrow()}

    def open(self, open_table: OpenTable) -> Kernel:
        return FirstRowsKernel(self, open_table) if self.keeps_first else RankKernel(self, open_table)
