"""The individual values of groups, stored so that the values of a group are adjacent.

An entry's hash has the upper half of the group's hash and the lower half of the value's: one range of hashes is one
group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from millstream.kernels.operator import ORDER
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from millstream.state.state_table import StateTable

GROUP: Final = "__group"
"""The index of the group in the batch's frame of groups."""
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


def entry_hash(group: pl.Expr, value: pl.Expr) -> pl.Expr:
    return (group & ~LOWER_HALF) | (value & LOWER_HALF)


class EntryTable:
    """A state table whose rows belong to groups."""

    def __init__(self, keys: Sequence[str], table: StateTable) -> None:
        self._keys = list(keys)
        self._table = table

    def of_groups(self, groups: pl.DataFrame) -> pl.DataFrame:
        """All entries of these groups."""
        low = np.unique(groups[HASH].to_numpy() & ~LOWER_HALF)
        return self.in_ranges(low, low | LOWER_HALF, groups)

    def in_ranges(self, low: NDArray[np.int64], high: NDArray[np.int64], groups: pl.DataFrame) -> pl.DataFrame:
        entries = pl.DataFrame(self._table.scan(low, high))
        if not self._keys:
            return entries.with_columns(pl.lit(0, dtype=pl.UInt32).alias(GROUP))
        return _match_groups(entries, groups.select(GROUP, *self._keys), self._keys)

    def clear(self, groups: pl.DataFrame) -> None:
        if groups.height:
            self._table.put(self.of_groups(groups).with_columns(pl.lit(value=True).alias(DEAD)).to_arrow())


def _match_groups(entries: pl.DataFrame, groups: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """By all key columns. When it joins single rows by a float, Polars does not consider two NaN equal."""
    floats = [key for key in keys if entries.schema[key].is_float()]
    is_nan = [pl.col(key).is_nan().alias(f"__nan_{key}") for key in floats]
    no_nan = [pl.col(key).fill_nan(None).alias(f"__number_{key}") for key in floats]
    others = [key for key in keys if key not in floats]
    added = [f"__{part}_{key}" for part in ("nan", "number") for key in floats]
    right = groups.with_columns(*is_nan, *no_nan).drop(floats)
    return entries.with_columns(*is_nan, *no_nan).join(right, on=[*others, *added], nulls_equal=True).drop(added)


def join_groups(groups: pl.DataFrame, rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Rows with the columns of their group. `key` begins with the hash, which usually identifies a group by itself."""
    if groups[HASH].n_unique() == groups.height:
        return rows.join(groups.drop(key[1:]), on=HASH)
    return rows.join(groups, on=key, nulls_equal=True)


def number(events: pl.DataFrame, groups: pl.DataFrame, seen: str, key: Sequence[str]) -> pl.DataFrame:
    """Rows with their group and their number in it, which continues from the group's previous `seen`."""
    placed = join_groups(groups.select(GROUP, seen, *key), events, key)
    rank = pl.col(ORDER).rank("ordinal").over(GROUP).cast(pl.Int64)
    return placed.with_columns((pl.col(seen).fill_null(0) + rank).alias(NUMBER))


def numbers_of(column: pa.ChunkedArray, known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Zero where a key was not found."""
    filled: NDArray[np.int64] = np.where(known, column.fill_null(0).to_numpy(), 0)
    return filled
