"""Tells which group a row of another part belongs to, without the group's key in each row.

A group's hash tells it, unless two groups of a batch have the same. Then its origin does: a random number for each
`combine`, plus one for each further group with the same hash.
"""

from __future__ import annotations

from secrets import randbits
from typing import TYPE_CHECKING, Final

import polars as pl

from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Sequence

ORIGIN: Final = "__origin"
_ROW: Final = "__row"
_BITS: Final = 62


def group_rows(rows: pl.DataFrame, keys: Sequence[str], sums: Sequence[pl.Expr]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The groups of a batch, and its rows; both with their origin."""
    groups = rows.group_by(HASH, *keys).agg(sums)
    first = randbits(_BITS)  # user code may seed the other generator alike in all workers
    if _are_told_by_hash(groups):
        origin = pl.lit(first, dtype=pl.Int64).alias(ORIGIN)
        return groups.with_columns(origin), rows.with_columns(origin)
    groups = rows.with_row_index(_ROW).group_by(HASH, *keys).agg(*sums, pl.col(_ROW))
    groups = groups.with_columns((pl.int_range(pl.len()).over(HASH) + first).alias(ORIGIN))
    origins = groups.select(ORIGIN, _ROW).explode(_ROW).sort(_ROW)[ORIGIN]
    return groups.drop(_ROW), rows.with_columns(origins)


def merge_groups(part: pl.DataFrame, keys: Sequence[str], sums: Sequence[pl.Expr]) -> pl.DataFrame:
    """The groups of all `combine`s. Where a hash does not tell them apart, each has a list of its origins."""
    groups = part.group_by(HASH, *keys).agg(sums)
    if ORIGIN not in part.columns or _are_told_by_hash(groups):
        return groups
    if part.select(HASH, ORIGIN).n_unique() < part.height:
        raise RuntimeError("two parts of a batch have drawn the same random number")
    return part.group_by(HASH, *keys).agg(*sums, pl.col(ORIGIN))


def join_groups(groups: pl.DataFrame, rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Adds columns of its group to each row of a part; `groups` are those of `merge_groups`."""
    if ORIGIN not in groups.columns:
        return rows.join(groups[[HASH, *columns]], on=HASH, maintain_order="left")
    return rows.join(groups[[HASH, ORIGIN, *columns]].explode(ORIGIN), on=[HASH, ORIGIN], maintain_order="left")


def _are_told_by_hash(groups: pl.DataFrame) -> bool:
    return groups[HASH].n_unique() == groups.height
