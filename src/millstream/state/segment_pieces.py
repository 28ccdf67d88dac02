"""Finds the pieces of a segment that overlap with ranges or batches of hashes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from millstream.state.manifest import Piece, Segment

Range = tuple[int | None, int | None]
"""From one hash (inclusive) to another (exclusive); None is unbounded."""


def split_by_piece(
    segment: Segment, rows: NDArray[np.int64], hashes: NDArray[np.int64]
) -> Iterator[tuple[Piece, NDArray[np.int64]]]:
    """`rows` are places in `hashes`, in order of their hash: those that each piece may have, where there are any."""
    ordered = hashes[rows]
    starts = np.searchsorted(ordered, [piece.first for piece in segment.pieces])
    ends = np.searchsorted(ordered, [piece.last for piece in segment.pieces], side="right")
    for piece, start, end in zip(segment.pieces, starts, ends, strict=True):
        if start < end:
            yield piece, rows[start:end]


def pieces_in_range(segment: Segment, wanted: Range) -> list[Piece]:
    """The pieces that may have rows in a range."""
    start, end = wanted
    return [
        piece
        for piece, (first, after) in zip(segment.pieces, _ranges(segment), strict=True)
        if (first is None or end is None or first < end) and (after is None or start is None or after > start)
    ]


def pieces_in_ranges(segment: Segment, low: NDArray[np.int64], high: NDArray[np.int64]) -> list[Piece]:
    """The pieces that may have rows in one of many ranges (ascending, ends included)."""
    found = []
    for piece, (_, after) in zip(segment.pieces, _ranges(segment), strict=True):
        at = int(np.searchsorted(high, piece.first))
        if at < len(high) and (after is None or low[at] < after):
            found.append(piece)
    return found


def ranges_to_merge(segments: Sequence[Segment]) -> list[Range]:
    """Divides all hashes into ranges with no more than a few pieces of each segment."""
    return _ranges(max(segments, key=lambda segment: len(segment.pieces))) if segments else [(None, None)]


def _ranges(segment: Segment) -> list[Range]:
    """The range of hashes of each piece."""
    return list(pairwise([None, *(piece.first for piece in segment.pieces[1:]), None]))
