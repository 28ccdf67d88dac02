"""Decides which segments a write merges with its own rows.

Segments are merged when there are several of about the same size, so that a row is rewritten once for each time the
table has grown eightfold, or when most rows are out of date. See docs/adr/0021-cheaper-state.md.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.state.manifest import Segment

_FEW_ROWS: Final = 4096
"""Merging so few rows costs less than looking for keys in one more segment."""
_GROWTH: Final = 8
"""The ratio of the sizes between which segments are in the same tier."""
_LEAST_MERGED: Final = 6
_MOST_MERGED: Final = 9
_LEAST_DROPPED: Final = 0.35
_MOST_DROPPED: Final = 0.5


def count_to_merge(segments: Sequence[Segment], rows: int, replaced: int) -> int:
    """How many of the newest segments to merge with new rows, `replaced` of which are updates."""
    out_of_date = replaced + sum(segment.replaced for segment in segments)
    if segments and out_of_date > _share_to_drop(segments[0]) * (rows + sum(segment.rows for segment in segments)):
        return len(segments)
    older = list(reversed(segments))
    size, taken = rows, 0
    while True:
        tier = _tier(size)
        same = list(takewhile(lambda segment: _tier(segment.rows) <= tier, older[taken:]))  # noqa: B023
        if not same or (tier > 0 and len(same) + 1 < _number_to_merge(same[-1])):
            return taken
        size += sum(segment.rows for segment in same)
        taken += len(same)


def _tier(rows: int) -> int:
    tier = 0
    while rows > _FEW_ROWS * _GROWTH**tier:
        tier += 1
    return tier


def _number_to_merge(oldest: Segment) -> int:
    return _LEAST_MERGED + _random(oldest) % (_MOST_MERGED - _LEAST_MERGED + 1)


def _share_to_drop(oldest: Segment) -> float:
    """The share of rows that may be out of date before all are merged."""
    return _LEAST_DROPPED + (_MOST_DROPPED - _LEAST_DROPPED) * (_random(oldest) & 0xFFFF) / 0xFFFF


def _random(segment: Segment) -> int:
    """Otherwise, all buckets of a job, which grow alike, would have their large merges in the same batch."""
    return segment.pieces[0].checksum
