"""Event time of an operator: how far it has come in each split of its inputs, and what that means for all of them.

Pure arithmetic on what a batch brings, so that a repeated batch has the same watermark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


@dataclass(frozen=True, slots=True)
class SplitTime:
    """A split is what advances by itself: a partition of a topic, or a table that has no partitions."""

    highest: int | None = None
    """The highest watermark of its rows; None before it had one."""
    quiet_ms: int = 0
    """How long it has had no rows."""


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """The time of an operator after a batch, in milliseconds since the epoch. Neither of its clocks goes back."""

    now: int | None = None
    """When the batch began; None before the first."""
    watermark: int | None = None
    """No row with an event time at or below it is expected any more; None while nothing is known."""
    splits: Mapping[str, SplitTime] = field(default_factory=dict)

    def advance(
        self, now: int, highest: Mapping[str, int | None], *, awaited: Collection[str] = (), idle_ms: int = 0
    ) -> Self:
        """The time after the next batch.

        `highest` is the highest watermark of each split that has rows in it; None where all of them have none.
        `awaited` are splits that hold the watermark back before their first row. A split that has been quiet for
        `idle_ms` no longer does (0: it always does); if all have, the watermark stays where it is.
        """
        now = now if self.now is None else max(now, self.now)
        gap = 0 if self.now is None else now - self.now
        # Nothing can arrive while a job is down, so a long gap alone makes no split idle.
        counted = min(gap, idle_ms // 2)
        quiet = {name: SplitTime(split.highest, split.quiet_ms + counted) for name, split in self.splits.items()}
        splits = {name: SplitTime() for name in awaited} | quiet
        for name, reached in highest.items():
            splits[name] = SplitTime(_later(splits.get(name, SplitTime()).highest, reached))
        active = [split.highest for split in splits.values() if not idle_ms or split.quiet_ms < idle_ms]
        return type(self)(now, _later(self.watermark, _least(active)), splits)


def _least(times: Collection[int | None]) -> int | None:
    """None if one of them is, or if there are none."""
    known = [time for time in times if time is not None]
    return min(known) if known and len(known) == len(times) else None


def _later(time: int | None, other: int | None) -> int | None:
    known = [each for each in (time, other) if each is not None]
    return max(known, default=None)
