"""The frame of each row of OVER: a run of rows in its partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.kernels.row_order import Numbers, SortedRows

_MOST_ROWS: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Frame:
    """How far it reaches from its row, which is in it."""

    preceding: int | None = None
    """So many rows, or milliseconds; None for all rows before."""
    by_time: bool = True
    """RANGE, where rows at one place in the order are in each other's frames; otherwise ROWS."""
    following: int | None = 0
    """So many rows; None for all rows behind."""


@dataclass(frozen=True, slots=True)
class PlacedRows:
    """Rows by partition, and in it in their order."""

    ordered: SortedRows
    first_peers: Numbers
    """For each row the first of those at its place in the order."""
    last_peers: Numbers
    times: Numbers | None = None
    """What RANGE counts back from."""

    @staticmethod
    def in_sequence(ordered: SortedRows, times: Numbers | None = None) -> PlacedRows:
        """Each row comes after those before it."""
        places = np.arange(ordered.rows.height)
        return PlacedRows(ordered, places, places, times)

    @staticmethod
    def with_peers(ordered: SortedRows, order: Sequence[str], times: Numbers | None = None) -> PlacedRows:
        """Rows that have the same in the columns of the order are at one place in it."""
        count = ordered.rows.height
        begins = np.zeros(count, dtype=bool)
        begins[ordered.starts] = True
        if order and count:
            differs = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in order)
            begins |= ordered.rows.select(differs).to_series().to_numpy()
        starts = np.flatnonzero(begins)
        sizes = np.diff(starts, append=count)
        return PlacedRows(ordered, np.repeat(starts, sizes), np.repeat(starts + sizes - 1, sizes), times)

    @property
    def begins(self) -> Numbers:
        """For each row the first of its partition."""
        return np.repeat(self.ordered.starts, self.ordered.sizes)

    @property
    def ends(self) -> Numbers:
        """For each row the last of its partition."""
        return np.repeat(self.ordered.starts + self.ordered.sizes - 1, self.ordered.sizes)

    def frame_of(self, frame: Frame) -> tuple[Numbers, Numbers]:
        """For each row the first of its frame, and how many rows are in it."""
        starts = self._starts(frame)
        return starts, self._ends(frame) - starts + 1

    def _starts(self, frame: Frame) -> Numbers:
        if frame.preceding is None:
            return self.begins
        if not frame.by_time:
            places = np.arange(self.ordered.rows.height)
            return np.maximum(self.begins, places - min(frame.preceding, _MOST_ROWS))
        return self._first_since(frame.preceding) if frame.preceding else self.first_peers

    def _ends(self, frame: Frame) -> Numbers:
        if frame.following is None:
            return self.ends
        if frame.by_time:
            return self.last_peers
        places = np.arange(self.ordered.rows.height)
        return np.minimum(self.ends, places + min(frame.following, _MOST_ROWS))

    def _first_since(self, length: int) -> Numbers:
        """The first row of its partition that is at most so much earlier."""
        assert self.times is not None
        distinct = np.unique(self.times)
        # All that lies before the first of the times is the same, and may be no number of 64 bits.
        least = int(distinct[0]) if len(distinct) else 0
        wanted = np.where(self.times - least < length, least, self.times - length)
        groups = self.ordered.groups * (len(distinct) + 1)
        keys = groups + np.searchsorted(distinct, self.times)
        return np.searchsorted(keys, groups + np.searchsorted(distinct, wanted), "left")
