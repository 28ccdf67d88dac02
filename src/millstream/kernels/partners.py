"""Which rows have a partner on the other side of a join, before a batch and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from millstream.kernels.join_pairs import LEFT_PLACE, RIGHT_AFTER, RIGHT_BEFORE, RIGHT_PLACE, join_by_keys
from millstream.kernels.multiset import COUNT
from millstream.kernels.operator import LEFT, RIGHT
from millstream.kernels.row_counts import AFTER, BEFORE, ROW_HASH
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from millstream.kernels.join_pairs import PairJoiner

HAD: Final = "__had"
HAS: Final = "__has"
"""Whether a row had a partner before the batch, and has one after it."""
MARK: Final = "__mark"
"""Of a result: whether the row has a partner."""
PARTNERS: Final = "__partners"
"""With how many rows of the other side a row is paired, each as often as it is there."""
KEYS: Final = "_keys"
"""Added to the name of a side, it names the table of how many of its rows have a key."""
_KEY: Final = "__key"
_PLACE: Final = "__place"


def key_changes(
    own: pl.DataFrame, keys: Sequence[str], asking: pl.DataFrame, asking_keys: Sequence[str]
) -> pl.DataFrame:
    """The keys of a side's rows with what `own` adds to their counts, and, with nothing, those of the other side."""
    asked = asking.select(
        HASH,
        *(pl.col(theirs).alias(ours) for theirs, ours in zip(asking_keys, keys, strict=True)),
        pl.lit(0, dtype=pl.Int64).alias(COUNT),
    )
    both = pl.concat([own.select(HASH, *keys, COUNT), asked], how="vertical_relaxed")
    summed = both.group_by(HASH, *keys).agg(pl.col(COUNT).sum())
    return summed.with_columns(pl.col(HASH).alias(ROW_HASH))


def flips() -> pl.Expr:
    """Whether a key has its first row or has lost its last one."""
    return (pl.col(BEFORE) > 0) != (pl.col(AFTER) > 0)


def without_expired(counts: pl.DataFrame, keys: Sequence[str], live: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Counts of keys, zero where all rows that were counted have expired; `live` are the rows that have not."""
    if not keys:
        return counts if any(rows.height for rows in live) else counts.with_columns(pl.lit(0, pl.Int64).alias(AFTER))
    there = pl.concat([rows.select(keys).unique() for rows in live]).unique()
    numbered = counts.with_row_index(_PLACE)
    found = join_by_keys(numbered.select(_PLACE, *keys), keys, _renamed(there, keys), _names(keys))[_PLACE]
    is_there = np.zeros(counts.height, dtype=bool)
    is_there[found.to_numpy()] = True
    alive = pl.Series(is_there)
    return counts.with_columns(pl.when(alive).then(AFTER).otherwise(0).alias(AFTER))


def with_key_counts(
    rows: pl.DataFrame, keys: Sequence[str], counts: pl.DataFrame, counted_keys: Sequence[str]
) -> pl.DataFrame:
    """The rows with whether the other side had rows of their key and has some; `counts` has all keys of interest."""
    known = counts.select(
        *(pl.col(key).alias(name) for key, name in zip(counted_keys, _names(keys), strict=True)),
        (pl.col(BEFORE) > 0).alias(HAD),
        (pl.col(AFTER) > 0).alias(HAS),
    )
    return join_by_keys(rows, keys, known, _names(keys)).select(*rows.columns, HAD, HAS)


def _names(keys: Sequence[str]) -> list[str]:
    return [f"{_KEY}{number}" for number in range(len(keys))]


def _renamed(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    return rows.select(pl.col(key).alias(name) for key, name in zip(keys, _names(keys), strict=True))


def count_partners(pairs: PairJoiner, left: pl.DataFrame, right: pl.DataFrame) -> dict[str, NDArray[np.int64]]:
    """How many partners the rows of each side gain, or lose, in those of the other; one of the two is all written."""
    sums = {name: np.zeros(rows.height, dtype=np.int64) for name, rows in ((LEFT, left), (RIGHT, right))}
    for found in pairs.pairs(left, right):
        for name, place, own, other in (
            (LEFT, LEFT_PLACE, pl.col(BEFORE), (RIGHT_BEFORE, RIGHT_AFTER)),
            (RIGHT, RIGHT_PLACE, pl.col(RIGHT_BEFORE), (BEFORE, AFTER)),
        ):
            # A row that was not there counts all its partners, another one how their number changes.
            before, after = map(pl.col, other)
            gained = found.select(pl.when(own == 0).then(after).otherwise(after - before)).to_series()
            np.add.at(sums[name], found[place].to_numpy(), gained.to_numpy())
    return sums
