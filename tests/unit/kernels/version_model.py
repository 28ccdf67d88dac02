"""What a temporal join gives, row by row: a small model of its rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millstream.changelog import RowKind
from tests.unit.kernels.interval_model import milliseconds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.unit.kernels.bench import Change, Row


@dataclass
class VersionModel:
    """The time is the first column of each side, the key the next ones."""

    keys: int
    keeps_left: bool
    is_partner: Callable[[Row, Row], bool] = lambda _, __: True
    late: int = 0
    waiting: list[Row] = field(default_factory=list)
    versions: dict[Row, dict[int, Row | None]] = field(default_factory=lambda: defaultdict(dict))

    def step(
        self, arrived: Sequence[Row], came: Sequence[Change], before: int | None, after: int | None
    ) -> Counter[Row]:
        given: Counter[Row] = Counter()
        has_time = [row for row in arrived if None not in self._key(row) and row[0] is not None]
        if self.keeps_left:
            given.update(self._alone(row) for row in arrived if row not in has_time)
        new = {place for kind, row in came if (place := self._put(kind, row)) is not None}
        ready = [row for row in (*self.waiting, *has_time) if after is not None and milliseconds_of(row[0]) <= after]
        self.waiting = [row for row in (*self.waiting, *has_time) if row not in ready]
        for row in ready:
            found = self._find(row)
            if found is not None and self.is_partner(row, found):
                given[(*row, *found)] += 1
            elif self.keeps_left:
                given[self._alone(row)] += 1
            elif found is None and before is not None and milliseconds_of(row[0]) <= before:
                self.late += 1
        self._clean(new, before, after)
        return given

    def _key(self, row: Row) -> Row:
        return row[1 : 1 + self.keys]

    def _put(self, kind: RowKind, row: Row) -> tuple[Row, int] | None:
        if kind is RowKind.UPDATE_BEFORE or None in self._key(row):
            return None
        known = self.versions[self._key(row)]
        is_deletion = kind is RowKind.DELETE
        time = milliseconds_of(row[0]) if row[0] is not None else max(known, default=None) if is_deletion else None
        if time is None:
            return None
        known[time] = None if is_deletion else row
        return self._key(row), time

    def _find(self, row: Row) -> Row | None:
        known = self.versions[self._key(row)]
        newest = max((time for time in known if time <= milliseconds_of(row[0])), default=None)
        return None if newest is None else known[newest]

    def _clean(self, new: set[tuple[Row, int]], before: int | None, after: int | None) -> None:
        if after is None:
            return
        for key, known in self.versions.items():
            begun = sorted(time for time in known if time <= after)
            for time in begun:
                if time < begun[-1] or known[time] is None:
                    is_late = before is not None and time <= before and (key, time) in new
                    self.late += is_late and known[time] is not None
                    del known[time]

    @staticmethod
    def _alone(row: Row) -> Row:
        return (*row, None, None, None, None)
