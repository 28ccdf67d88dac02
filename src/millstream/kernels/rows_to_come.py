"""time -> row: the rows of OVER that the watermark has not passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from millstream.kernels.earlier_rows import PARTITION, TIME
from millstream.kernels.entries import NUMBER
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.kernels.operator import BatchTime
    from millstream.state.state_table import StateTable

_LEAST: Final = np.array([np.iinfo(np.int64).min])


class RowsToCome:
    """`time` is the column with the event time of a row."""

    def __init__(self, columns: Sequence[str], time: str, table: StateTable) -> None:
        self._columns = columns
        self._time = time
        self._table = table

    def take(self, arrived: pl.DataFrame | None, time: BatchTime) -> tuple[pl.DataFrame, int]:
        """The rows whose time has come, and how many came too late; a row without a time has no place in the order."""
        stored = self._stored_until(time.watermark)
        if arrived is None:
            self._put(stored.clear(), stored)
            return stored, 0
        timed = self._number(arrived.with_columns(pl.col(self._time).dt.epoch("ms").alias(TIME)))
        is_late = pl.col(TIME).is_null()
        if time.before is not None:
            is_late |= pl.col(TIME) <= time.before
        fresh = timed.filter(~is_late)
        is_due = pl.lit(value=False) if time.watermark is None else pl.col(TIME) <= time.watermark
        self._put(fresh.filter(~is_due), stored)
        return pl.concat([stored, fresh.filter(is_due).select(stored.columns)]), timed.height - fresh.height

    def _stored_until(self, watermark: int | None) -> pl.DataFrame:
        columns = [pl.col(PARTITION).alias(HASH), pl.col(HASH).alias(TIME), NUMBER, *self._columns]
        end = _LEAST if watermark is None else np.array([watermark])
        return pl.DataFrame(self._table.scan(_LEAST, end)).select(columns)

    def _number(self, arrived: pl.DataFrame) -> pl.DataFrame:
        """In the order of arrival, behind all that wait."""
        first = self._table.take_numbers(arrived.height)
        return arrived.with_columns(pl.col(NUMBER).rank("ordinal").cast(pl.Int64) - 1 + first)

    def _put(self, waiting: pl.DataFrame, gone: pl.DataFrame) -> None:
        both = pl.concat([waiting.select(gone.columns), gone])
        dead = pl.Series(DEAD, np.arange(both.height) >= waiting.height)
        place, partition = pl.col(TIME).alias(HASH), pl.col(HASH).alias(PARTITION)
        written = both.select(place, NUMBER, partition, *self._columns, dead)
        self._table.put(written.to_arrow(), replaced=gone.height)
