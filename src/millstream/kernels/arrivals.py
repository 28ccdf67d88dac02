"""(group, number) -> value: the values of a group in order of arrival, for FIRST_VALUE, LAST_VALUE and the lists.

A retraction removes the earliest equal value, for each of these functions, as in Flink.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from millstream.kernels.entries import GROUP, ID, MISSED, NUMBER, SIGN, VALUE_HASH, EntryTable, Moves
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.state.state_table import StateTable

_GROUP_BITS: Final = ~0xFFFF_FFFF
_SHORT: Final = 0xFFFF
_STORED: Final = "__stored"


class Arrivals(EntryTable):
    """`values` are the columns that make two entries equal.

    The lower half of an entry's hash consists of half of the value's hash, so that equal values are adjacent, and half
    of the number, so that many equal values do not share one hash.
    """

    def __init__(self, values: Sequence[str], table: StateTable) -> None:
        super().__init__(table)
        self._values = list(values)

    def update(self, events: pl.DataFrame, groups: pl.DataFrame) -> Moves:
        """`events` are signed rows with their `__group`, `__value_hash` and `__number`."""
        goes = events.filter(pl.col(SIGN) < 0)
        pushed = events.with_columns(_hash_of(pl.col(HASH), pl.col(VALUE_HASH), pl.col(NUMBER)).alias(HASH))
        if goes.height == 0:
            moves = Moves(pushed, pushed.clear())
        else:
            moves = self._replay(pushed, self._equal_to(goes, groups))
        columns = [HASH, ID, NUMBER, *self._values]
        sides = ((moves.removed, True), (moves.added, False))
        written = pl.concat([side.select(*columns, pl.lit(dead).alias(DEAD)) for side, dead in sides])
        self._table.put(written.to_arrow(), replaced=moves.removed.height)
        return moves

    def _equal_to(self, goes: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
        """The stored entries that may be equal."""
        low = np.unique(goes.select(_hash_of(pl.col(HASH), pl.col(VALUE_HASH), pl.lit(0)))[HASH].to_numpy())
        stored = self.in_ranges(low, low | _SHORT, groups)
        return stored.join(goes, on=[GROUP, *self._values], how="semi", nulls_equal=True)

    def _replay(self, pushed: pl.DataFrame, stored: pl.DataFrame) -> Moves:
        """Equal values form a queue: a retraction removes its head, or nothing if the queue is empty."""
        columns = [GROUP, HASH, ID, NUMBER, *self._values]
        queue = [GROUP, *self._values]
        played = pl.concat(
            [
                stored.select(*columns, pl.lit(1, dtype=pl.Int64).alias(SIGN), pl.lit(value=True).alias(_STORED)),
                pushed.select(*columns, SIGN, pl.lit(value=False).alias(_STORED)),
            ]
        ).sort(NUMBER)
        played = played.with_columns(
            pl.col(SIGN).cum_sum().over(queue).alias("__length"),
            (pl.col(SIGN) > 0).cum_sum().over(queue).cast(pl.Int64).alias("__place"),
            (pl.col(SIGN) < 0).sum().over(queue).cast(pl.Int64).alias("__taken"),
        ).with_columns((-pl.col("__length")).max().clip(0).over(queue).alias(MISSED))
        stays = pl.col("__place") > pl.col("__taken") - pl.col(MISSED)
        comes = played.filter(pl.col(SIGN) > 0)
        return Moves(
            comes.filter(~pl.col(_STORED) & stays).select(columns),
            comes.filter(pl.col(_STORED) & ~stays).select(columns),
            played.filter(pl.col(MISSED) > 0).unique(queue).select(GROUP, MISSED),
        )


def _hash_of(group: pl.Expr, value: pl.Expr, number: pl.Expr) -> pl.Expr:
    return (group & _GROUP_BITS) | (value & _SHORT) * (_SHORT + 1) | (number & _SHORT)
