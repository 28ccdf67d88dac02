"""Rows by what event time says of their windows: late, of a window that stays open, or of one that a batch closes."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from millstream.kernels.entries import LOWER_HALF
from millstream.kernels.operator import MAX_WATERMARK, BatchTime
from millstream.kernels.slice_table import milliseconds
from millstream.state.state_table import HASH


@dataclass(frozen=True, slots=True)
class PartedRows:
    late: pl.DataFrame
    open: pl.DataFrame
    closing: pl.DataFrame


def part_by_window(rows: pl.DataFrame, end: str, time: BatchTime) -> PartedRows:
    """`end` is the column with the end of the window."""
    found = rows.select(_has_closed(end, time.before).alias("late"), _has_closed(end, time.watermark).alias("closed"))
    late, closed = found["late"], found["closed"]
    return PartedRows(rows.filter(late), rows.filter(~closed), rows.filter(closed & ~late))


def time_of_windows(time: BatchTime, *, by_clock: bool) -> BatchTime:
    """Windows of processing time end when a batch begins at their end or later, and no row comes late for them."""
    return BatchTime(time.now, time.now - 1) if by_clock else time


def last_closed(watermark: int) -> int:
    """The latest end of the windows that have closed."""
    return min(watermark, MAX_WATERMARK - 1) + 1


def may_close(time: BatchTime) -> bool:
    """Whether event time has advanced; else what is stored stays, and no row comes in time that closes at once."""
    return time.watermark is not None and time.watermark != time.before


def _has_closed(end: str, watermark: int | None) -> pl.Expr:
    """Whether event time has passed the last moment of the window that ends there."""
    return (milliseconds(end) - 1 <= pl.lit(watermark, dtype=pl.Int64)).fill_null(value=False)


def beside_stored(rows: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Rows of a batch, then those of a table, with the columns of the table, and as much of their hashes."""
    same = rows.select(stored.columns).cast(stored.schema).with_columns(pl.col(HASH) & ~LOWER_HALF)
    return pl.concat([same, stored])
