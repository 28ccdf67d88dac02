"""Pairs of rows with equal keys whose times are at most so far apart, found by binary search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from millstream.kernels.event_rows import LARGEST_TABLE, TIME
from millstream.kernels.join_pairs import join_by_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Places = NDArray[np.int64]

_PLACE: Final = "__place"
_RANK: Final = "__rank"
_KEY: Final = "__key"


@dataclass(frozen=True, slots=True)
class KeyedTimes:
    """Rows with `__time`, and the columns that are their key; none is NULL."""

    rows: pl.DataFrame
    keys: tuple[str, ...]

    @property
    def times(self) -> Places:
        return self.rows[TIME].to_numpy()


@dataclass(frozen=True, slots=True)
class PairsInTime:
    """The partners of each left row are neighbours in an order of the right rows."""

    order: Places
    """The right rows by key and time."""
    starts: Places
    counts: Places
    """Where the partners of each left row begin in the order, and how many there are."""

    @classmethod
    def find(cls, left: KeyedTimes, right: KeyedTimes, first: int, last: int) -> PairsInTime:
        """Partners of a row are from `first` to `last` milliseconds later than it, ends included."""
        if not left.rows.height or not right.rows.height or first > last:
            none = np.zeros(left.rows.height, dtype=np.int64)
            return cls(np.empty(0, np.int64), none, none)
        left_ranks, right_ranks = rank_keys(left, right)
        moments, right_moments = np.unique(right.times, return_inverse=True)
        # Key and place in time as one number: what a row looks for is a range of it.
        places = right_ranks * (len(moments) + 1) + right_moments
        order = np.argsort(places, kind="stable")
        ordered, base = places[order], left_ranks * (len(moments) + 1)
        starts = np.searchsorted(ordered, base + np.searchsorted(moments, left.times + first, side="left"))
        ends = np.searchsorted(ordered, base + np.searchsorted(moments, left.times + last, side="right"))
        return cls(order, starts, np.where(left_ranks < 0, 0, ends - starts))

    @property
    def left_have_partners(self) -> NDArray[np.bool_]:
        return self.counts > 0

    def right_have_partners(self, height: int) -> NDArray[np.bool_]:
        """For each of the right rows, of which there are `height`."""
        changes = np.zeros(len(self.order) + 1, dtype=np.int64)
        np.add.at(changes, self.starts, self.counts > 0)
        np.subtract.at(changes, self.starts + self.counts, self.counts > 0)
        found = np.zeros(height, dtype=bool)
        found[self.order] = np.cumsum(changes)[:-1] > 0
        return found

    def portions(self) -> Iterator[tuple[Places, Places]]:
        """The places of the rows of each pair, left and right, for some pairs at a time."""
        ends = np.cumsum(self.counts)
        total = int(ends[-1]) if len(ends) else 0
        for start in range(0, total, LARGEST_TABLE):
            pairs = np.arange(start, min(start + LARGEST_TABLE, total))
            left = np.searchsorted(ends, pairs, side="right")
            yield left, self.order[self.starts[left] + pairs - (ends[left] - self.counts[left])]


def rank_keys(left: KeyedTimes, right: KeyedTimes) -> tuple[Places, Places]:
    """A number for each key of the right rows, for the rows of both sides; -1 if no right row has the key."""
    if not right.keys:
        return np.zeros(left.rows.height, np.int64), np.zeros(right.rows.height, np.int64)
    names = [f"{_KEY}{number}" for number in range(len(right.keys))]
    renamed = right.rows.select(pl.col(key).alias(name) for key, name in zip(right.keys, names, strict=True))
    known = renamed.unique().with_row_index(_RANK)
    return _ranks(left.rows, left.keys, known, names), _ranks(right.rows, right.keys, known, names)


def _ranks(rows: pl.DataFrame, keys: Sequence[str], known: pl.DataFrame, names: Sequence[str]) -> Places:
    own = rows.select(keys).with_row_index(_PLACE)
    found = join_by_keys(own, list(keys), known, list(names))
    ranks = np.full(rows.height, -1, dtype=np.int64)
    ranks[found[_PLACE].to_numpy()] = found[_RANK].to_numpy()
    return ranks
