"""What OVER computes for each row: aggregates over its frame, values of rows around it, and its number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.aggregates.registry import aggregate_function
from millstream.kernels.frame_results import Frames, call_over_frames, find_earlier_equals, mark_counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from millstream.aggregates.calls import Call
    from millstream.kernels.frames import Frame, PlacedRows
    from millstream.kernels.row_order import Numbers

RANK: Final = "RANK"
DENSE_RANK: Final = "DENSE_RANK"
PERCENT_RANK: Final = "PERCENT_RANK"
CUME_DIST: Final = "CUME_DIST"
_IS_FIRST: Final = "__is_first"
_SHARES: Final = (PERCENT_RANK, CUME_DIST)


@dataclass(frozen=True, slots=True)
class FrameCall:
    """An aggregate of the rows in a frame."""

    call: Call
    frame: Frame

    @property
    def output(self) -> str:
        return self.call.output

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(name for name in (self.call.argument, self.call.filter) if name is not None)

    def field(self, types: Mapping[str, pa.DataType]) -> pa.Field:
        function = aggregate_function(self.call.function)
        return pa.field(self.output, function.result_type(types.get(self.call.argument or "")))

    def compute(self, rows: PlacedRows, at: Numbers, types: Mapping[str, pa.DataType]) -> pl.Series:
        """For the rows at these places."""
        frames = Frames(*rows.frame_of(self.frame))[at]
        argument = types.get(self.call.argument or "")
        if self._counts_first_only:
            counted = replace(self.call, distinct=False, filter=_IS_FIRST)
            marked = rows.ordered.rows.with_columns(self._mark_first(rows))
            return call_over_frames(counted, argument, marked, frames).alias(self.output)
        return call_over_frames(self.call, argument, rows.ordered.rows, frames).alias(self.output)

    @property
    def _counts_first_only(self) -> bool:
        """Whether DISTINCT need only know where a value comes first: all frames of a partition begin with it."""
        has_state = aggregate_function(self.call.function).accumulator is not None
        return self.call.distinct and self.frame.preceding is None and has_state

    def _mark_first(self, rows: PlacedRows) -> pl.Series:
        """The first rows of their partition that have their value, of those that count."""
        earlier = find_earlier_equals(self.call, rows.ordered.rows)
        return pl.Series(_IS_FIRST, mark_counted(self.call, rows.ordered.rows) & (earlier < rows.begins))


@dataclass(frozen=True, slots=True)
class Shift:
    """LAG, or with a negative offset LEAD: the value of a column so many rows before.

    `default` is the column with what stands where there is no such row.
    """

    output: str
    argument: str
    offset: int
    default: str | None = None

    def field(self, types: Mapping[str, pa.DataType]) -> pa.Field:
        return pa.field(self.output, types[self.argument])

    def compute(self, rows: PlacedRows, at: Numbers, defaults: pl.DataFrame) -> pl.Series:
        """`defaults` are the rows at these places."""
        wanted = at - self.offset
        is_there = (wanted >= rows.begins[at]) & (wanted <= rows.ends[at])
        values = rows.ordered.rows[self.argument].gather(np.where(is_there, wanted, 0))
        other = values.clear(len(values)) if self.default is None else defaults[self.default].cast(values.dtype)
        return values.zip_with(pl.Series(is_there), other).alias(self.output)


@dataclass(frozen=True, slots=True)
class Numbering:
    """The place of a row in the order of its partition. NTILE has a number of `tiles`."""

    output: str
    function: str
    tiles: int | None = None

    @property
    def field(self) -> pa.Field:
        return pa.field(self.output, pa.float64() if self.function in _SHARES else pa.int64())

    def compute(self, rows: PlacedRows) -> pl.Series:
        begins, sizes = rows.begins, np.repeat(rows.ordered.sizes, rows.ordered.sizes)
        places = np.arange(len(begins)) - begins
        before = rows.first_peers - begins
        found: NDArray[np.int64 | np.float64]
        match self.function:
            case "ROW_NUMBER":
                found = places + 1
            case "RANK":
                found = before + 1
            case "DENSE_RANK":
                found = count_peers(rows)
            case "PERCENT_RANK":
                found = before / np.maximum(sizes - 1, 1)
            case "CUME_DIST":
                found = (rows.last_peers - begins + 1) / sizes
            case _:
                assert self.tiles is not None
                found = _tiles(places, sizes, self.tiles)
        return pl.Series(self.output, found)


def count_peers(rows: PlacedRows) -> Numbers:
    """For each row how many places the order of its partition has up to it."""
    begins = rows.begins
    found: Numbers = np.cumsum(rows.first_peers == np.arange(len(begins)))
    return found - found[begins] + 1 if len(begins) else found


def _tiles(places: Numbers, sizes: Numbers, tiles: int) -> Numbers:
    """The first tiles have one row more, if they cannot all have the same number."""
    least, larger = sizes // tiles, sizes % tiles
    in_larger = places < larger * (least + 1)
    found: Numbers = np.where(
        in_larger, places // (least + 1), larger + (places - larger * (least + 1)) // np.maximum(least, 1)
    )
    return found + 1


def result_fields(
    types: Mapping[str, pa.DataType],
    calls: Sequence[FrameCall],
    shifts: Sequence[Shift],
    numberings: Sequence[Numbering],
) -> list[pa.Field]:
    """Of rows whose columns have these types."""
    aggregated = [call.field(types) for call in calls]
    return [*aggregated, *(shift.field(types) for shift in shifts), *(each.field for each in numberings)]
