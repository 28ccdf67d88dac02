"""Rows in Arrow arrays with the windows that their times belong to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from millstream.windows import Windows

    Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WindowRows:
    """An entry per row and window."""

    rows: Places
    """The place of the row."""
    starts: Places
    ends: Places

    @classmethod
    def of(cls, times: pa.Array, windows: Windows) -> WindowRows:
        """A row without a time has no window."""
        milliseconds = to_milliseconds(times.drop_null())
        places = np.flatnonzero(times.is_valid().to_numpy(zero_copy_only=False))
        if windows.size == windows.step:
            [(start, end, _)] = windows.of(milliseconds)
            return cls(places, start, end)
        parts = [(places[has], start[has], end[has]) for start, end, has in windows.of(milliseconds)]
        rows, starts, ends = (np.concatenate(part) for part in zip(*parts, strict=True))
        # The windows of a row stay together: what comes in order of arrival remains in that order.
        order = np.argsort(rows, kind="stable")
        return cls(rows[order], starts[order], ends[order])

    def __len__(self) -> int:
        return len(self.rows)


def to_milliseconds(times: pa.Array) -> Places:
    """Of times without NULL."""
    if not pa.types.is_timestamp(times.type):
        times = times.cast(pa.timestamp("us"))
    floored = pc.floor_temporal(times, unit="millisecond").cast(pa.timestamp("ms", times.type.tz))
    found: Places = floored.cast(pa.int64()).to_numpy()
    return found


def to_times(milliseconds: Places, type_: pa.TimestampType) -> pa.Array:
    return pa.array(milliseconds).cast(pa.timestamp("ms", type_.tz)).cast(type_)
