"""The rows of one side of an interval join that may still find partners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from millstream.kernels.event_rows import MIN_TIME, NUMBER, TIME
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millstream.state.state_table import StateTable

    Integers = NDArray[np.int64]

PLACE: Final = "__place"
"""Where a row is stored: rows of a key that happened at about the same time are neighbours."""
LONELY: Final = "_lonely"
"""Added to the name of a side, it names the part, and the table, of its rows without a partner."""
_HASH_BITS: Final = 22
_SLOTS_PER_REACH: Final = 4
_SHORTEST_SLOT: Final = 1000
_MAX: Final = (1 << 63) - 1


class WaitingRows:
    """`rows` has them by time and key. `lonely` has those without a partner by when they have waited enough.

    Without `lonely`, nobody asks for these. What has waited enough is forgotten by both.
    """

    def __init__(self, rows: StateTable, lonely: StateTable | None, *, interval_ms: int, reach_ms: int) -> None:
        """Partners are within a time of `interval_ms`; rows wait until `reach_ms` after they happened."""
        self._rows = rows
        self._lonely = lonely
        self._slot_ms = max(interval_ms // _SLOTS_PER_REACH, _SHORTEST_SLOT)
        self._reach_ms = reach_ms

    def ends(self, rows: pl.DataFrame) -> Integers:
        """The watermark at which each row has waited enough."""
        return rows[TIME].to_numpy() + self._reach_ms

    def happened_between(self, hashes: Integers, first: Integers, last: Integers, *, ended: int | None) -> pl.DataFrame:
        """All rows of these keys from the first to the last time that wait at this watermark, and perhaps others."""
        starts, ends = first // self._slot_ms, last // self._slot_ms
        most = int((ends - starts).max(initial=-1)) + 1
        found = [self._places(slots[(inside := slots <= ends)], hashes[inside]) for slots in _each(starts, most)]
        places = np.unique(np.concatenate([np.empty(0, np.int64), *found]))
        rows = pl.DataFrame(self._rows.scan(places, places)).rename({HASH: PLACE})
        return rows if ended is None else rows.filter(pl.Series(self.ends(rows) > ended, dtype=pl.Boolean))

    def number(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows as they can be stored."""
        first = self._rows.take_numbers(rows.height)
        numbers = pl.Series(NUMBER, np.arange(first, first + rows.height))
        places = self._places(rows[TIME].to_numpy() // self._slot_ms, rows[HASH].to_numpy())
        return rows.with_columns(numbers, pl.Series(PLACE, places)).drop(HASH)

    def add(self, rows: pl.DataFrame) -> None:
        self._rows.put(rows.select(pl.col(PLACE).alias(HASH), pl.exclude(PLACE), _dead(value=False)).to_arrow())

    def keep_lonely(self, rows: pl.DataFrame) -> None:
        """These have no partner yet."""
        self._put_lonely(rows, is_dead=False)

    def pair_off(self, rows: pl.DataFrame) -> None:
        """These have found one."""
        self._put_lonely(rows, is_dead=True)

    def _put_lonely(self, rows: pl.DataFrame, *, is_dead: bool) -> None:
        if self._lonely is not None:
            ends = pl.Series(HASH, self.ends(rows))
            self._lonely.put(rows.select(ends, NUMBER, PLACE, _dead(value=is_dead)).to_arrow())

    def find_lonely(self, ended: int | None, now: int | None) -> pl.DataFrame:
        """Those that have waited enough at the watermark `now`, but not at `ended`."""
        if self._lonely is None or now is None or ended == now:
            return pl.DataFrame()
        first = MIN_TIME if ended is None else ended + 1
        found = self._lonely.scan(np.array([first]), np.array([now]))
        places = np.unique(found.column(PLACE).to_numpy())
        rows = pl.DataFrame(self._rows.scan(places, places))
        return rows.filter(pl.col(NUMBER).is_in(pl.Series(found.column(NUMBER)).implode()))

    def forget(self, now: int | None) -> None:
        """What has waited enough at this watermark."""
        if now is None:
            return
        if self._lonely is not None:
            self._lonely.forget_below(_within(now + 1))
        self._rows.forget_below(_within((now + 1 - self._reach_ms) // self._slot_ms << _HASH_BITS))

    def _places(self, slots: Integers, hashes: Integers) -> Integers:
        """Slot by slot, so that rows whose time has passed are together."""
        upper = (hashes.view(np.uint64) >> np.uint64(64 - _HASH_BITS)).view(np.int64)
        return slots << _HASH_BITS | upper


def _each(slots: Integers, count: int) -> list[Integers]:
    return [slots + number for number in range(count)]


def _within(hash_: int) -> int:
    return min(max(hash_, MIN_TIME), _MAX)


def _dead(*, value: bool) -> pl.Expr:
    return pl.lit(value, dtype=pl.Boolean).alias(DEAD)
