"""The versions of rows by key: each holds from its time until the time of the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from millstream.kernels.event_rows import TIME
from millstream.kernels.operator import ORDER
from millstream.kernels.pairs_in_time import KeyedTimes, rank_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

DELETED: Final = "__deleted"
"""Whether there is no row from the time of a version on."""
RANK: Final = "__rank"
_WAS_STORED: Final = "__was_stored"
_BEFORE_ALL: Final = -1


@dataclass(frozen=True, slots=True)
class Versions:
    """By key and time; of two at the same time, the one that came last."""

    rows: pl.DataFrame
    is_new: NDArray[np.bool_]
    """Whether this batch brought it."""
    was_stored: NDArray[np.bool_]
    """Whether there was a version of that key and time before."""

    @classmethod
    def after(cls, stored: pl.DataFrame, came: pl.DataFrame, keys: tuple[str, ...]) -> Versions:
        """`stored` has the versions of all keys of those that `came`, which have their order of arrival."""
        before = stored.with_columns(pl.lit(_BEFORE_ALL, pl.Int64).alias(ORDER))
        both = pl.concat([before, came.select(before.columns)])
        ranked = both.with_columns(
            pl.Series(RANK, _ranks(both, keys)), (pl.col(ORDER) == _BEFORE_ALL).alias(_WAS_STORED)
        )
        newest = pl.col(TIME).cum_max().forward_fill().over(RANK)
        timed = ranked.sort(ORDER, maintain_order=True).with_columns(pl.coalesce(pl.col(TIME), newest).alias(TIME))
        timed = timed.drop_nulls(TIME).sort(RANK, TIME, maintain_order=True)
        timed = timed.with_columns(pl.col(_WAS_STORED).any().over(RANK, TIME))
        last = timed.unique([RANK, TIME], keep="last", maintain_order=True)
        is_new = (last[ORDER] != _BEFORE_ALL).to_numpy()
        return cls(last.drop(ORDER, _WAS_STORED), is_new, last[_WAS_STORED].to_numpy())

    def of(self, rows: pl.DataFrame, row_keys: tuple[str, ...], keys: tuple[str, ...]) -> NDArray[np.int64]:
        """Where the version is that holds at the time of each row; -1 where there is no row of the key then."""
        if not self.rows.height or not rows.height:
            return np.full(rows.height, -1, dtype=np.int64)
        known = self.rows.unique(RANK, keep="first", maintain_order=True)
        # The keys as they are ranked here, which is in order of the rows of `known`.
        numbers, own = rank_keys(KeyedTimes(rows, row_keys), KeyedTimes(known, keys))
        to_rank = np.full(known.height + 1, -1, dtype=np.int64)
        to_rank[own] = known[RANK].to_numpy()
        ranks = to_rank[numbers]
        moments, places = np.unique(self.rows[TIME].to_numpy(), return_inverse=True)
        ordered = self.rows[RANK].to_numpy() * (len(moments) + 1) + places
        last = np.searchsorted(moments, rows[TIME].to_numpy(), side="right") - 1
        at = np.searchsorted(ordered, ranks * (len(moments) + 1) + last, side="right") - 1
        is_there = (ranks >= 0) & (at >= 0)
        is_there &= self.rows[RANK].to_numpy()[at] == ranks
        is_there &= ~self.rows[DELETED].to_numpy()[at]
        return np.where(is_there, at, -1)

    def out_of_date(self, watermark: int | None) -> NDArray[np.bool_]:
        """Those that hold for no row to come. A key that has no row any more needs none."""
        if watermark is None:
            return np.zeros(self.rows.height, dtype=bool)
        has_begun = self.rows[TIME].to_numpy() <= watermark
        ranks = self.rows[RANK].to_numpy()
        next_has_begun = np.zeros(len(ranks), dtype=bool)
        next_has_begun[:-1] = has_begun[1:] & (ranks[1:] == ranks[:-1])
        over: NDArray[np.bool_] = has_begun & (next_has_begun | self.rows[DELETED].to_numpy())
        return over


def _ranks(rows: pl.DataFrame, keys: tuple[str, ...]) -> NDArray[np.int64]:
    keyed = KeyedTimes(rows, keys)
    return rank_keys(keyed, keyed)[0]
