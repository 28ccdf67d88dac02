"""A table of groups, or of their rows, in which those of windows that end together are adjacent.

The upper half of a stored hash is the end of the window, the lower half the upper half of the group's own hash. So a
range of times is a range of hashes, and what closes in a batch is found without reading the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.kernels.entries import LOWER_HALF
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millstream.state.state_table import Found, StateTable

_SHIFT: Final = 12
"""Some seconds share an upper half, so that there are enough for centuries."""
_HALF: Final = 32
_LEAST, _MOST = -(1 << 31), (1 << 31) - 1
_MICROS: Final = 1000


class SliceTable:
    """`end` is the column with the end of the window. Of a group's hash, only the upper half is found again."""

    def __init__(self, table: StateTable, end: str) -> None:
        self._table = table
        self._end = end

    def take_numbers(self, count: int) -> int:
        return self._table.take_numbers(count)

    def lookup(self, keys: pa.Table) -> Found:
        return self._table.lookup(self._as_stored(keys))

    def put(self, rows: pa.Table, *, replaced: int = 0) -> None:
        self._table.put(self._as_stored(rows), replaced=replaced)

    def up_to(self, last: int) -> pl.DataFrame:
        """All rows of windows that end at this time, in milliseconds, or before it."""
        high = _upper_half(np.array([last]))
        rows = self._scan(np.array([_LEAST << _HALF]), high << _HALF | LOWER_HALF)
        return rows.filter(milliseconds(self._end) <= last)

    def beside(self, rows: pl.DataFrame) -> pl.DataFrame:
        """All rows of the groups of these, and maybe others."""
        hashes = np.unique(self._as_stored(rows.select(HASH, self._end).to_arrow()).column(HASH).to_numpy())
        return self._scan(hashes, hashes)

    def _scan(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> pl.DataFrame:
        stored = self._table.scan(low, high)
        return pl.DataFrame(stored).with_columns(pl.Series(HASH, stored.column(HASH).to_numpy() << _HALF))

    def remove(self, rows: pl.DataFrame) -> None:
        """Rows as they were found."""
        if rows.height:
            self.put(rows.with_columns(pl.lit(value=True).alias(DEAD)).to_arrow(), replaced=rows.height)

    def _as_stored(self, rows: pa.Table) -> pa.Table:
        hashes = rows.column(HASH).to_numpy()
        ends = pl.DataFrame(rows.select([self._end])).select(milliseconds(self._end)).to_series().to_numpy()
        stored = _upper_half(ends) << _HALF | (hashes >> _HALF & LOWER_HALF)
        return rows.set_column(rows.schema.get_field_index(HASH), HASH, pa.array(stored))


def milliseconds(column: str) -> pl.Expr:
    """A column of times, as milliseconds since the epoch."""
    return pl.col(column).to_physical() // _MICROS


def _upper_half(times: NDArray[np.int64]) -> NDArray[np.int64]:
    upper: NDArray[np.int64] = np.clip(times >> _SHIFT, _LEAST, _MOST)
    return upper
