"""Rows sorted by group and, within a group, by any number of columns; places are counted group by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SortKey:
    name: str
    descending: bool = False
    nulls_last: bool = False


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Groups are told apart by `__hash` and `keys`; NULL is a value like any other."""

    keys: tuple[str, ...]
    by: tuple[SortKey, ...]

    def sort(self, rows: pl.DataFrame) -> SortedRows:
        group = (HASH, *self.keys)
        ordered = rows.sort(
            [*group, *(key.name for key in self.by)],
            descending=[False] * len(group) + [key.descending for key in self.by],
            nulls_last=[False] * len(group) + [key.nulls_last for key in self.by],
            maintain_order=True,
        )
        return SortedRows(ordered, _starts_of_groups(ordered, group))


@dataclass(frozen=True, slots=True)
class SortedRows:
    rows: pl.DataFrame
    starts: Numbers
    """The first row of each group."""

    @property
    def groups(self) -> Numbers:
        """For each row the number of its group."""
        return np.repeat(np.arange(len(self.starts)), self.sizes)

    @property
    def sizes(self) -> Numbers:
        return np.diff(self.starts, append=self.rows.height)

    @property
    def places(self) -> Numbers:
        """From 0, in each group."""
        return np.arange(self.rows.height) - np.repeat(self.starts, self.sizes)

    def sum_before(self, counts: Numbers) -> Numbers:
        """The sum of the counts of the rows before each one in its group."""
        before = np.cumsum(counts) - counts
        return before - np.repeat(before[self.starts], self.sizes)

    def sum_by_group(self, counts: Numbers) -> Numbers:
        return np.add.reduceat(counts, self.starts) if len(self.starts) else np.empty(0, dtype=np.int64)

    def filter(self, mask: NDArray[np.bool_]) -> SortedRows:
        groups = self.groups[mask]
        return SortedRows(self.rows.filter(pl.Series(mask)), np.flatnonzero(np.diff(groups, prepend=-1)))

    def first(self, count: int) -> pl.DataFrame:
        """So many rows of each group at most."""
        return self.rows.filter(pl.Series(self.places < count))


def _starts_of_groups(ordered: pl.DataFrame, columns: Sequence[str]) -> Numbers:
    if not ordered.height:
        return np.empty(0, dtype=np.int64)
    differs = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in columns)
    begins = ordered.select(differs).to_series().to_numpy().copy()
    begins[0] = True
    return np.flatnonzero(begins)
