"""The individual values of groups, stored so that the values of a group are adjacent.

An entry's hash has the upper half of the group's hash and the lower half of the value's: one range of hashes is one
group. Which group it is, where groups share that half, is told by a number that the group's row has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import polars as pl

from millstream.aggregates.calls import OLD
from millstream.kernels.operator import ORDER
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from millstream.state.state_table import Found, StateTable

GROUP: Final = "__group"
"""The index of the group in the batch's frame of groups."""
ID: Final = "__id"
"""The number of the group, which distinguishes its entries instead of its key."""
VALUE: Final = "__value"
VALUE_HASH: Final = "__value_hash"
ENTRY: Final = "__entry"
"""The hash by which an entry is stored."""
NUMBER: Final = "__number"
"""A value's position in its group's order of arrival."""
SIGN: Final = "__sign"
MISSED: Final = "__missed"
LOWER_HALF: Final = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class Moves:
    """The entries that a batch added and removed, each with its `__group`."""

    added: pl.DataFrame
    removed: pl.DataFrame
    missed: pl.DataFrame | None = None
    """How many entries to be removed did not exist, in `__missed`; a group may appear in several rows."""

    @property
    def ignored(self) -> int:
        return 0 if self.missed is None else int(self.missed[MISSED].sum())


class GroupTable(Protocol):
    """What is asked of the state table of groups."""

    def take_numbers(self, count: int) -> int: ...
    def lookup(self, keys: pa.Table) -> Found: ...
    def put(self, rows: pa.Table, *, replaced: int = 0) -> None: ...


def entry_hash(group: pl.Expr, value: pl.Expr) -> pl.Expr:
    return (group & ~LOWER_HALF) | (value & LOWER_HALF)


class EntryTable:
    """A state table whose rows belong to groups."""

    def __init__(self, table: StateTable) -> None:
        self._table = table

    def of_groups(self, groups: pl.DataFrame) -> pl.DataFrame:
        """All entries of these groups."""
        low = np.unique(groups[HASH].to_numpy() & ~LOWER_HALF)
        return self.in_ranges(low, low | LOWER_HALF, groups)

    def in_ranges(self, low: NDArray[np.int64], high: NDArray[np.int64], groups: pl.DataFrame) -> pl.DataFrame:
        return pl.DataFrame(self._table.scan(low, high)).join(groups.select(GROUP, ID), on=ID)

    def clear(self, groups: pl.DataFrame) -> None:
        if groups.height:
            entries = self.of_groups(groups).with_columns(pl.lit(value=True).alias(DEAD))
            self._table.put(entries.to_arrow(), replaced=entries.height)


def number_groups(groups: pl.DataFrame, table: GroupTable) -> pl.DataFrame:
    """Adds the number of each group: the one of its row in `table`, or a new one."""
    old = groups[OLD + ID]
    is_new = old.is_null().to_numpy()
    new = table.take_numbers(int(is_new.sum())) + np.cumsum(is_new) - 1
    return groups.hstack([pl.Series(ID, np.where(is_new, new, old.fill_null(0).to_numpy()))])


def number(placed: pl.DataFrame, seen: str) -> pl.DataFrame:
    """Rows that know their group, with their number in it, which continues from the group's previous `seen`."""
    rank = pl.col(ORDER).rank("ordinal").over(GROUP).cast(pl.Int64)
    return placed.with_columns((pl.col(seen).fill_null(0) + rank).alias(NUMBER))


def numbers_of(column: pa.ChunkedArray, known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Zero where a key was not found."""
    filled: NDArray[np.int64] = np.where(known, column.fill_null(0).to_numpy(), 0)
    return filled
