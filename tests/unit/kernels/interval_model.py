"""What an interval join gives, row by row: a small model of its rules."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from millstream.kernels.operator import LEFT, RIGHT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from millstream.join_kinds import JoinKind
    from millstream.kernels.interval_join import TimeBounds
    from tests.unit.kernels.bench import Row

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001
_MILLISECOND = timedelta(milliseconds=1)


def milliseconds_of(time: datetime) -> int:
    return (time - EPOCH) // _MILLISECOND


@dataclass(eq=False)
class _Waiting:
    row: Row
    time: int
    has_partner: bool = False


@dataclass
class IntervalModel:
    """The time is the first column of each side; `keys` are places of others."""

    kind: JoinKind
    bounds: TimeBounds
    keys: Sequence[int]
    is_pair: Callable[[Row, Row], bool] = lambda _, __: True
    late: int = 0
    waiting: dict[str, list[_Waiting]] = field(default_factory=lambda: {LEFT: [], RIGHT: []})

    def step(self, arrived: Mapping[str, Sequence[Row]], before: int | None, after: int | None) -> Counter[Row]:
        given: Counter[Row] = Counter()
        came: dict[str, list[_Waiting]] = {LEFT: [], RIGHT: []}
        for name, rows in arrived.items():
            for row in rows:
                if row[0] is None or any(row[place] is None for place in self.keys):
                    given.update([self._alone(name, row)] if self._keeps(name) else [])
                else:
                    came[name].append(_Waiting(row, milliseconds_of(row[0])))
        for left in [*self.waiting[LEFT], *came[LEFT]]:
            for right in [*self.waiting[RIGHT], *came[RIGHT]]:
                if left not in came[LEFT] and right not in came[RIGHT]:
                    continue
                both_over = self._is_over(LEFT, left, before) and self._is_over(RIGHT, right, before)
                if not both_over and self._are_partners(left, right):
                    given[(*left.row, *right.row)] += 1
                    left.has_partner = right.has_partner = True
        for name in (LEFT, RIGHT):
            if not self._keeps(name):
                is_late = [before is not None and each.time <= before for each in came[name]]
                self.late += sum(
                    late and self._is_over(name, each, before) and not each.has_partner
                    for late, each in zip(is_late, came[name], strict=True)
                )
            self.waiting[name] += came[name]
            over = [each for each in self.waiting[name] if self._is_over(name, each, after)]
            self.waiting[name] = [each for each in self.waiting[name] if each not in over]
            if self._keeps(name):
                given.update(self._alone(name, each.row) for each in over if not each.has_partner)
        return given

    def _keeps(self, name: str) -> bool:
        return self.kind.keeps_left if name == LEFT else self.kind.keeps_right

    def _is_over(self, name: str, each: _Waiting, watermark: int | None) -> bool:
        reach = -self.bounds.lower if name == LEFT else self.bounds.upper
        return watermark is not None and each.time + reach <= watermark

    def _are_partners(self, left: _Waiting, right: _Waiting) -> bool:
        same = all(left.row[place] == right.row[place] for place in self.keys)
        in_time = self.bounds.lower <= left.time - right.time <= self.bounds.upper
        return same and in_time and self.is_pair(left.row, right.row)

    @staticmethod
    def _alone(name: str, row: Row) -> Row:
        nothing = (None,) * len(row)
        return (*row, *nothing) if name == LEFT else (*nothing, *row)
