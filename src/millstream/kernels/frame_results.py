"""Aggregates over the frame of each row.

A frame is put together from runs whose lengths are powers of two, which takes as many steps as its length has bits,
for all rows at once; nothing is ever subtracted, so that a NaN leaves with its row. Where single values matter, as with
DISTINCT, the rows of all frames are listed, some frames at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from millstream.aggregates.accumulators import ROW_COUNT, add_to_old
from millstream.aggregates.calls import OLD, Entries
from millstream.aggregates.registry import aggregate_function

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from millstream.aggregates.accumulators import Accumulator
    from millstream.aggregates.calls import Call
    from millstream.kernels.row_order import Numbers

_LISTED_TOGETHER: Final = 1 << 20
"""Rows of frames; a longer frame is listed alone."""
_FRAME: Final = "__frame"
_VALUE: Final = "__value"
_PLACE: Final = "__place"
_COUNT: Final = "__count"


@dataclass(frozen=True, slots=True)
class Frames:
    """Runs of rows."""

    starts: Numbers
    lengths: Numbers

    def __getitem__(self, chosen: slice | Numbers) -> Frames:
        return Frames(self.starts[chosen], self.lengths[chosen])

    def divide(self) -> Iterator[Frames]:
        """Into parts that have no more rows than can be listed together, or one frame each."""
        ends = np.cumsum(self.lengths)
        first = 0
        if not len(self.starts):
            yield self
        while first < len(self.starts):
            before = int(ends[first - 1]) if first else 0
            last = max(int(np.searchsorted(ends, before + _LISTED_TOGETHER, "right")), first + 1)
            yield self[first:last]
            first = last

    def places(self) -> Numbers:
        """Of all rows in all frames, frame by frame."""
        total = int(self.lengths.sum())
        firsts = np.cumsum(self.lengths) - self.lengths
        return np.repeat(self.starts - firsts, self.lengths) + np.arange(total)


def call_over_frames(call: Call, argument: pa.DataType | None, rows: pl.DataFrame, frames: Frames) -> pl.Series:
    """The result of a call for each frame of rows."""
    if is_accumulated(call):
        states = RowStates([_accumulator(call, argument)])
        return states.results(states.over_frames(states.of_rows(rows), frames))[0]
    return pl.concat(list(_of_values(call, argument, rows, frames)))


def is_accumulated(call: Call) -> bool:
    """Whether the state of two runs of rows is enough to know that of both together."""
    return not call.distinct and aggregate_function(call.function).accumulator is not None


@dataclass(frozen=True, slots=True)
class RowStates:
    """The state of accumulators as columns, one row for each run of rows."""

    accumulators: Sequence[Accumulator]

    @property
    def names(self) -> list[str]:
        return [ROW_COUNT, *(field.name for each in self.accumulators for field in each.fields)]

    def of_rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The state of each row alone."""
        one = pl.lit(1, dtype=pl.Int64).alias(ROW_COUNT)
        states = (part for each in self.accumulators for part in each.of_row(counted_value(each.call)))
        return rows.with_columns(one, *states).select(self.names)

    def join(self, former: pl.DataFrame, latter: pl.DataFrame) -> pl.DataFrame:
        """Row by row; a state of NULLs is that of no rows."""
        old = former.select(pl.col(name).alias(OLD + name) for name in self.names)
        joined = [part for each in self.accumulators for part in each.join()]
        return pl.concat([old, latter.select(self.names)], how="horizontal").select(add_to_old(ROW_COUNT), *joined)

    def over_frames(self, states: pl.DataFrame, frames: Frames) -> pl.DataFrame:
        """The state of each frame, from that of each row."""
        found = states.clear(len(frames.starts))
        at, runs, size = frames.starts, states, 1
        longest = int(frames.lengths.max(initial=0))
        while size <= longest:
            has_run = (frames.lengths & size) > 0
            if has_run.any():
                found = _choose(has_run, self.join(found, runs[np.where(has_run, at, 0)]), found)
            at = at + np.where(has_run, size, 0)
            size *= 2
            if size <= longest:
                # Behind the end of a partition this makes runs of rows that do not belong together: no frame has them.
                runs = self.join(runs, runs.shift(-(size // 2)))
        is_empty = frames.lengths == 0
        return _choose(is_empty, self.join(found, found), found) if is_empty.any() else found

    def results(self, states: pl.DataFrame) -> list[pl.Series]:
        return states.select(each.result("").alias(each.call.output) for each in self.accumulators).get_columns()


def counted_value(call: Call) -> pl.Expr:
    """The argument of a call, and NULL where its filter says so."""
    value = pl.lit(1) if call.argument is None else pl.col(call.argument)
    return value if call.filter is None else pl.when(pl.col(call.filter)).then(value)


def _accumulator(call: Call, argument: pa.DataType | None) -> Accumulator:
    accumulator = aggregate_function(call.function).accumulator
    assert accumulator is not None
    return accumulator(call, argument)


def _of_values(call: Call, argument: pa.DataType | None, rows: pl.DataFrame, frames: Frames) -> Iterator[pl.Series]:
    """From the single values in each frame, for some frames at a time."""
    assert call.argument is not None
    values, is_counted = rows[call.argument], mark_counted(call, rows)
    earlier = find_earlier_equals(call, rows) if call.distinct else None
    of_found = _of_listed if aggregate_function(call.function).reads is None else _read
    for part in frames.divide():
        places = part.places()
        listed = is_counted[places]
        if earlier is not None:
            listed &= earlier[places] < np.repeat(part.starts, part.lengths)
        number = np.repeat(np.arange(len(part.starts)), part.lengths)[listed]
        found = pl.DataFrame({_FRAME: pl.Series(number, dtype=pl.Int64), _VALUE: values.gather(places[listed])})
        yield of_found(call, argument, found, len(part.starts))


def mark_counted(call: Call, rows: pl.DataFrame) -> NDArray[np.bool_]:
    """Which rows have a value for the call."""
    assert call.argument is not None
    is_counted = np.ones(rows.height, dtype=bool)
    if not aggregate_function(call.function).keeps_nulls:
        is_counted = rows[call.argument].is_not_null().to_numpy()
    return is_counted if call.filter is None else is_counted & rows[call.filter].fill_null(value=False).to_numpy()


def find_earlier_equals(call: Call, rows: pl.DataFrame) -> Numbers:
    """For each row the last one before it that counts and has the same value; -1 where there is none.

    In a frame without it, a value comes first. Rows of other partitions are in no frame.
    """
    assert call.argument is not None
    counted = np.flatnonzero(mark_counted(call, rows))
    values = pl.DataFrame({_PLACE: counted, _VALUE: rows[call.argument].gather(counted)})
    earlier = np.full(rows.height, -1, dtype=np.int64)
    earlier[counted] = values.select(pl.col(_PLACE).shift(1).over(_VALUE).fill_null(-1)).to_series().to_numpy()
    return earlier


def _of_listed(call: Call, argument: pa.DataType | None, listed: pl.DataFrame, count: int) -> pl.Series:
    """The values of a frame are a run of their own."""
    assert call.argument is not None
    numbers = listed[_FRAME].to_numpy()
    starts = np.searchsorted(numbers, np.arange(count), "left")
    lengths = np.searchsorted(numbers, np.arange(count), "right") - starts
    accumulator = _accumulator(call, argument)
    one = pl.lit(1, dtype=pl.Int64).alias(ROW_COUNT)
    states = RowStates([accumulator])
    alone = listed.with_columns(one, *accumulator.of_row(pl.col(_VALUE))).select(states.names)
    return states.results(states.over_frames(alone, Frames(starts, lengths)))[0]


def _read(call: Call, _: pa.DataType | None, listed: pl.DataFrame, count: int) -> pl.Series:
    function = aggregate_function(call.function)
    assert function.reads is not None
    if function.needs_order:
        listed = listed.with_columns(pl.lit(1, dtype=pl.Int64).alias(_COUNT))
    else:
        listed = listed.group_by(_FRAME, _VALUE).agg(pl.len().cast(pl.Int64).alias(_COUNT)).sort(_FRAME, _VALUE)
    result = function.reads(call, Entries(pl.col(_VALUE), pl.col(_COUNT))).alias(call.output)
    read = listed.group_by(_FRAME, maintain_order=True).agg(result)
    all_frames = pl.DataFrame({_FRAME: pl.Series(np.arange(count), dtype=pl.Int64)})
    found = all_frames.join(read, on=_FRAME, how="left", maintain_order="left")[call.output]
    return found if function.of_nothing is None else found.fill_null(function.of_nothing)


def _choose(condition: NDArray[np.bool_], chosen: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    if condition.all():
        return chosen
    mask = pl.Series(condition)
    return pl.DataFrame([column.zip_with(mask, other[column.name]) for column in chosen.iter_columns()])
