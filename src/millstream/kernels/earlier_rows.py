"""(partition, number) -> row: the rows of OVER that a later frame may reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from millstream.kernels.entries import LOWER_HALF, NUMBER, entry_hash
from millstream.kernels.frames import PlacedRows
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millstream.kernels.over import OverOperator
    from millstream.kernels.row_order import Numbers, SortedRows
    from millstream.state.state_table import StateTable

KEPT: Final = "kept"
ENDS: Final = "ends"
TIME: Final = "__time"
PARTITION: Final = "__partition"
"""The hash of the partition, where a row is stored by another one."""
_UPPER_HALF: Final = ~LOWER_HALF
_LEAST: Final = np.iinfo(np.int64).min
_DUE: Final = "__due"
"""The number of a row that is new; NULL in those that are stored."""


class EarlierRows:
    """Where age matters, `ends` is time -> partition, which tells the partitions that have nothing but old rows.

    The time is that of the newest row of a partition.
    """

    def __init__(self, spec: OverOperator, kept: StateTable, ends: StateTable | None) -> None:
        self._spec = spec
        self._kept = kept
        self._ends = ends

    def add(self, due: pl.DataFrame, horizon: int) -> pl.DataFrame:
        """The rows with their results; no row to come has a time before `horizon`."""
        spec = self._spec
        stored = self._stored(due, horizon)
        first = self._kept.take_numbers(due.height)
        placed = due.sort(TIME, NUMBER).with_row_index(_DUE).with_columns(pl.col(_DUE).cast(pl.Int64) + first)
        columns = [HASH, *spec.keys, TIME, *spec.kept_columns, NUMBER, _DUE]
        renumbered = placed.with_columns(pl.col(_DUE).alias(NUMBER))
        both = pl.concat([stored.select(columns), renumbered.select(columns)]).with_columns(pl.col(HASH) & _UPPER_HALF)
        ordered = spec.row_order.sort(both)
        if spec.time is None:
            ordered = _without_steps_back(ordered)
        times = ordered.rows[TIME].to_numpy()
        self._keep(ordered, times, horizon)
        rows = (
            PlacedRows.in_sequence(ordered, times)
            if spec.time is None
            else PlacedRows.with_peers(ordered, [TIME], times)
        )
        return self._results(rows, placed, first)

    def _stored(self, due: pl.DataFrame, horizon: int) -> pl.DataFrame:
        """The rows of the partitions that get rows, or have old ones."""
        hashes = [due[HASH].to_numpy()]
        if self._ends is not None:
            end = np.array([horizon - 1 - (self._spec.kept_ms or 0)])
            expired = pl.DataFrame(self._ends.scan(np.array([_LEAST]), end))
            self._ends.put(expired.with_columns(pl.lit(value=True).alias(DEAD)).to_arrow(), replaced=expired.height)
            hashes.append(expired[PARTITION].to_numpy())
        low = np.unique(np.concatenate(hashes) & _UPPER_HALF)
        stored = pl.DataFrame(self._kept.scan(low, low | LOWER_HALF))
        return stored.with_columns(pl.lit(None, dtype=pl.Int64).alias(_DUE))

    def _keep(self, ordered: SortedRows, times: Numbers, horizon: int) -> None:
        """Writes what is new and to be kept, and deletes what is not kept any more."""
        spec = self._spec
        from_end = np.repeat(ordered.starts + ordered.sizes, ordered.sizes) - np.arange(ordered.rows.height)
        is_kept = from_end <= spec.kept_rows
        is_young = np.zeros(ordered.rows.height, dtype=bool)
        if spec.kept_ms is not None:
            is_young = times >= horizon - spec.kept_ms
        is_kept |= is_young
        is_new = ordered.rows[_DUE].is_not_null().to_numpy()
        is_written = is_kept if spec.expires else is_kept & is_new
        is_dead = ~is_kept & ~is_new
        written = ordered.rows.with_columns(pl.Series(DEAD, is_dead)).filter(pl.Series(is_written | is_dead))
        entry = entry_hash(pl.col(HASH), pl.col(NUMBER)).alias(HASH)
        columns = [entry, *spec.keys, NUMBER, TIME, *spec.kept_columns, DEAD]
        replaced = int((~is_new & (is_written | is_dead)).sum())
        self._kept.put(written.select(columns).to_arrow(), replaced=replaced)
        if self._ends is not None:
            self._write_ends(self._ends, ordered, is_new, is_young)

    def _write_ends(
        self, ends: StateTable, ordered: SortedRows, is_new: NDArray[np.bool_], is_young: NDArray[np.bool_]
    ) -> None:
        """The newest row of each partition is its last; the one before the batch is the last of those stored."""
        if not ordered.rows.height:
            return
        last = ordered.starts + ordered.sizes - 1
        number_of_stored = np.add.reduceat(~is_new, ordered.starts)
        before = ordered.starts + number_of_stored - 1
        times = ordered.rows[TIME].to_numpy()
        moved = is_new[last] & (times[last] != times[before])
        gone = before[moved & (number_of_stored > 0)]
        new = last[(is_new[last] | self._spec.expires) & is_young[last]]
        places = np.concatenate([new, gone])
        dead = pl.Series(DEAD, np.arange(len(places)) >= len(new))
        keys = [pl.col(TIME).alias(HASH), *map(pl.col, self._spec.keys), pl.col(HASH).alias(PARTITION)]
        ends.put(ordered.rows[places].select(*keys, dead).to_arrow(), replaced=len(gone))

    def _results(self, rows: PlacedRows, placed: pl.DataFrame, first: int) -> pl.DataFrame:
        """In the order of `placed`."""
        numbers = rows.ordered.rows[_DUE]
        at = np.flatnonzero(numbers.is_not_null().to_numpy())
        at = at[np.argsort(numbers.gather(at).to_numpy() - first)]
        aggregates = [call.compute(rows, at, self._spec.types) for call in self._spec.listed_calls]
        lags = [lag.compute(rows, at, placed) for lag in self._spec.lags]
        return placed.drop(_DUE).with_columns(*aggregates, *lags)


def _without_steps_back(ordered: SortedRows) -> SortedRows:
    """Rows in the order of their arrival, whose clock may have been set back."""
    rows = ordered.rows.with_columns(pl.Series("__at", ordered.groups))
    return type(ordered)(rows.with_columns(pl.col(TIME).cum_max().over("__at")).drop("__at"), ordered.starts)
