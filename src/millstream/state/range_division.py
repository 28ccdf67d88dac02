"""Divides ranges of hashes, so that the rows in them can be read in parts that fit in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Hashes = NDArray[np.int64]


class Run(NamedTuple):
    """A piece of a segment."""

    hashes: Hashes
    """Of its rows, in order."""
    row_bytes: float


def divide_ranges(runs: Sequence[Run], low: Hashes, high: Hashes, most_bytes: int) -> Iterator[tuple[Hashes, Hashes]]:
    """The ranges (ascending, ends included) in parts with about so many bytes of the runs; a hash is in one part."""
    counts = [_count(run, low, high) for run in runs]
    rows = [int(count.sum()) for count in counts]
    if sum(count * run.row_bytes for count, run in zip(rows, runs, strict=True)) <= most_bytes:
        yield low, high
        return
    largest = int(np.argmax(rows))
    cut = max(_middle(runs[largest], low, counts[largest]), int(low[0]) + 1)
    if cut > high[-1]:
        yield low, high
        return
    yield from divide_ranges(runs, *clip_ranges(low, high, None, cut - 1), most_bytes)
    yield from divide_ranges(runs, *clip_ranges(low, high, cut, None), most_bytes)


def clip_ranges(low: Hashes, high: Hashes, start: int | None, end: int | None) -> tuple[Hashes, Hashes]:
    """What of the ranges is between two hashes, ends included."""
    first = 0 if start is None else int(np.searchsorted(high, start))
    after = len(low) if end is None else int(np.searchsorted(low, end, side="right"))
    low, high = low[first:after], high[first:after]
    return low if start is None else np.maximum(low, start), high if end is None else np.minimum(high, end)


def _count(run: Run, low: Hashes, high: Hashes) -> Hashes:
    """How many rows are in each range."""
    counts: Hashes = np.searchsorted(run.hashes, high, side="right") - np.searchsorted(run.hashes, low)
    return counts


def _middle(run: Run, low: Hashes, counts: Hashes) -> int:
    """The hash of the row in the middle of those in the ranges."""
    ends = np.cumsum(counts)
    place = int(ends[-1]) // 2
    at = int(np.searchsorted(ends, place, side="right"))
    row = int(np.searchsorted(run.hashes, low[at])) + place - int(ends[at] - counts[at])
    return int(run.hashes[row])
