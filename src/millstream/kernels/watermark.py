"""Event time of an operator: how far it has come in each split of its sources, and what that means for all of them.

Pure arithmetic on what a batch brings, so that a repeated batch has the same watermark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self

from millstream.kernels.operator import MAX_WATERMARK

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

SEPARATOR: Final = "/"
"""Between the id of a source and its split, in the name of the split."""


@dataclass(frozen=True, slots=True)
class TimeSource:
    """Where time comes from: a table, or an operator below that has a watermark of its own."""

    id: str
    idle_ms: int = 0
    """How long a split of a table may have no rows before event time passes without it; 0 is for ever."""
    is_operator: bool = False

    def name_of(self, split: str) -> str:
        return f"{self.id}{SEPARATOR}{split}"


@dataclass(frozen=True, slots=True)
class SplitReport:
    """What a batch says of a split."""

    highest: int | None = None
    """The highest watermark of its rows, or that of an operator; None if there is none."""
    is_active: bool = True
    """Whether it had rows; an operator is active unless all of its own splits are idle."""

    def merge(self, other: SplitReport) -> SplitReport:
        return SplitReport(later(self.highest, other.highest), self.is_active or other.is_active)


@dataclass(frozen=True, slots=True)
class SplitTime:
    """A split is what advances by itself: a partition of a topic, or a source that has no partitions."""

    highest: int | None = None
    """The highest watermark of its rows; None before it had one."""
    quiet_ms: int = 0
    """How long it has had no rows."""
    is_idle: bool = False
    """Whether event time passes without it."""

    def after(self, report: SplitReport | None, source: TimeSource, gap: int) -> SplitTime:
        """Nothing can arrive while a job is down, so a long gap alone makes no split idle."""
        highest = self.highest if report is None else later(self.highest, report.highest)
        is_active = report is not None and report.is_active
        if source.is_operator:
            return SplitTime(highest, is_idle=self.is_idle if report is None else not is_active)
        if is_active:
            return SplitTime(highest)
        quiet = self.quiet_ms + min(gap, source.idle_ms // 2)
        return SplitTime(highest, quiet, is_idle=0 < source.idle_ms <= quiet)


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """The time of an operator after a batch, in milliseconds since the epoch. No clock in it goes back."""

    now: int | None = None
    """When the batch began; None before the first."""
    watermark: int | None = None
    """No row with an event time at or below it is expected any more; None while nothing is known."""
    sources: Mapping[str, int | None] = field(default_factory=dict)
    """The watermark of each source, by its id: the least of its splits that are not idle."""
    splits: Mapping[str, SplitTime] = field(default_factory=dict)
    """By the id of the source and the split."""

    def advance(
        self,
        now: int,
        reports: Mapping[str, SplitReport],
        sources: Collection[TimeSource],
        *,
        has_ended: bool = False,
    ) -> Self:
        """The time after the next batch; the highest if no row will come after it.

        A split holds the watermark back from when it is known until it is idle, and so does a source of which no split
        is known. While all are idle, the watermark stays where it is.
        """
        now = now if self.now is None else max(now, self.now)
        gap = 0 if self.now is None else now - self.now
        splits: dict[str, SplitTime] = {}
        watermarks: dict[str, int | None] = {}
        active: list[int | None] = []
        for source in sources:
            own = self._splits_of(source, reports, gap)
            heard = [split.highest for split in own.values() if not split.is_idle]
            watermarks[source.id] = later(self.sources.get(source.id), _least(heard))
            splits |= own
            active += [watermarks[source.id]] if heard else []
        reached = MAX_WATERMARK if has_ended else _least(active)
        return type(self)(now, later(self.watermark, reached), watermarks, splits)

    def _splits_of(self, source: TimeSource, reports: Mapping[str, SplitReport], gap: int) -> dict[str, SplitTime]:
        """Before any split of a source is known, there is one without a name."""
        prefix = source.name_of("")
        known = {name for name in (*self.splits, *reports) if name.startswith(prefix)}
        names = known - {prefix} if len(known) > 1 else known or {prefix}
        return {
            name: self.splits.get(name, SplitTime()).after(reports.get(name), source, gap if name in self.splits else 0)
            for name in sorted(names)
        }

    @property
    def is_idle(self) -> bool:
        """Whether it says nothing about how far time has come at present."""
        return bool(self.splits) and all(split.is_idle for split in self.splits.values())


def later(time: int | None, other: int | None) -> int | None:
    known = [each for each in (time, other) if each is not None]
    return max(known, default=None)


def merge_reports(into: dict[str, SplitReport], reports: Mapping[str, SplitReport]) -> None:
    for name, report in reports.items():
        into[name] = into[name].merge(report) if name in into else report


def _least(times: Collection[int | None]) -> int | None:
    """None if one of them is, or if there are none."""
    known = [time for time in times if time is not None]
    return min(known) if known and len(known) == len(times) else None
