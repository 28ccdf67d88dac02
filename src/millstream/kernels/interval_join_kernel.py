"""One bucket of an interval join, opened for one batch."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.kernels.event_rows import TIME, inserts
from millstream.kernels.join_pairs import keep_partners
from millstream.kernels.operator import LEFT, RIGHT, StepResult
from millstream.kernels.pairs_in_time import KeyedTimes, PairsInTime
from millstream.kernels.waiting_rows import LONELY, WaitingRows
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from millstream.kernels.interval_join import IntervalJoinOperator
    from millstream.kernels.operator import BatchTime, Parts
    from millstream.state.state_table import StateTable

    Mask = NDArray[np.bool_]


class Rows:
    """Some rows of a side, and which of them have found a partner in this batch."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self.rows = rows
        self.have_partners: Mask = np.zeros(rows.height, dtype=bool)

    def of(self, mask: Mask) -> pl.DataFrame:
        return self.rows.filter(pl.Series(mask, dtype=pl.Boolean))


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Rows of both sides that are joined with each other."""

    left: Rows
    right: Rows
    left_places: NDArray[np.int64]
    right_places: NDArray[np.int64]
    """Which of the rows take part."""
    pairs: PairsInTime


class IntervalJoinKernel:
    def __init__(
        self, spec: IntervalJoinOperator, rows: Mapping[str, StateTable], lonely: Mapping[str, StateTable]
    ) -> None:
        self._spec = spec
        self._waiting = {
            name: WaitingRows(
                rows[name], lonely.get(name), interval_ms=spec.bounds.length, reach_ms=spec.bounds.reach(name)
            )
            for name in spec.inputs
        }

    def step(self, parts: Parts, time: BatchTime) -> StepResult:
        """A row that came when it had waited enough already finds rows that wait, but none of its batch does it."""
        arrived = {name: self._arrivals(name, parts) for name in self._spec.inputs}
        stored = {
            LEFT: self._stored(LEFT, arrived[RIGHT].rows, RIGHT, time),
            RIGHT: self._stored(RIGHT, arrived[LEFT].rows, LEFT, time),
        }
        waits = {name: self._waits(name, rows, time.before) for name, rows in arrived.items()}
        everything = {name: np.ones(rows.rows.height, dtype=bool) for name, rows in arrived.items()}
        meetings = [
            self._meet(arrived[LEFT], everything[LEFT], stored[RIGHT], None),
            self._meet(stored[LEFT], None, arrived[RIGHT], everything[RIGHT]),
            self._meet(arrived[LEFT], everything[LEFT], arrived[RIGHT], waits[RIGHT]),
            self._meet(arrived[LEFT], waits[LEFT], arrived[RIGHT], ~waits[RIGHT]),
        ]
        late = sum(self._late(name, arrived[name], ~waits[name], meetings, time) for name in self._spec.inputs)
        alone = (self._lonely(name, parts) for name in self._spec.inputs)
        return StepResult(chain(chain.from_iterable(alone), self._changes(meetings, arrived, stored, time)), late=late)

    def _arrivals(self, name: str, parts: Parts) -> Rows:
        side = self._spec.side(name)
        rows = pl.DataFrame(parts[name]) if name in parts else _empty(side.schema)
        return Rows(rows.select(HASH, TIME, *side.columns))

    def _stored(self, name: str, others: pl.DataFrame, other: str, time: BatchTime) -> Rows:
        """Rows that wait for those which have come on the other side."""
        first, last = self._spec.bounds.partners(other)
        times = others[TIME].to_numpy()
        found = self._waiting[name].happened_between(
            others[HASH].to_numpy(), times + first, times + last, ended=time.before
        )
        return Rows(found)

    def _waits(self, name: str, rows: Rows, ended: int | None) -> Mask:
        if ended is None:
            return np.ones(rows.rows.height, dtype=bool)
        return self._waiting[name].ends(rows.rows) > ended

    def _meet(self, left: Rows, left_part: Mask | None, right: Rows, right_part: Mask | None) -> _Meeting:
        lefts, rights = _places(left, left_part), _places(right, right_part)
        pairs = PairsInTime.find(
            KeyedTimes(left.rows[lefts], self._spec.left.keys),
            KeyedTimes(right.rows[rights], self._spec.right.keys),
            *self._spec.bounds.partners(LEFT),
        )
        return _Meeting(left, right, lefts, rights, pairs)

    def _late(self, name: str, rows: Rows, is_over: Mask, meetings: list[_Meeting], time: BatchTime) -> int:
        """Late rows that cannot wait either, and of which nothing is given."""
        if self._spec.keeps(name) or time.before is None or not is_over.any():
            return 0
        is_over &= rows.rows[TIME].to_numpy() <= time.before
        found = np.zeros(rows.rows.height, dtype=bool)
        for meeting in meetings:
            if meeting.left is rows:
                found[meeting.left_places[meeting.pairs.left_have_partners]] = True
            elif meeting.right is rows:
                found[meeting.right_places[meeting.pairs.right_have_partners(len(meeting.right_places))]] = True
        return int((is_over & ~found).sum())

    def _lonely(self, name: str, parts: Parts) -> Iterator[pa.Table]:
        """Rows that cannot have a partner."""
        if name + LONELY in parts:
            yield from inserts(pl.DataFrame(parts[name + LONELY]).drop(HASH), self._spec.output_schema)

    def _changes(
        self, meetings: list[_Meeting], arrived: Mapping[str, Rows], stored: Mapping[str, Rows], time: BatchTime
    ) -> Iterator[pa.Table]:
        """The state is written behind the last pair: only then is it known which rows have a partner."""
        for meeting in meetings:
            yield from self._give(meeting)
        for name in self._spec.inputs:
            waiting, rows, others = self._waiting[name], arrived[name], stored[name]
            stays = self._waits(name, rows, time.watermark)
            if self._spec.keeps(name):
                yield from self._give_lonely(rows.of(~stays & ~rows.have_partners))
            numbered = waiting.number(rows.of(stays))
            waiting.add(numbered)
            waiting.keep_lonely(numbered.filter(pl.Series(~rows.have_partners[stays], dtype=pl.Boolean)))
            waiting.pair_off(others.of(others.have_partners))
            yield from self._give_lonely(waiting.find_lonely(time.before, time.watermark))
            waiting.forget(time.watermark)

    def _give(self, meeting: _Meeting) -> Iterator[pa.Table]:
        columns = [self._spec.left.columns, self._spec.right.columns]
        for portion in meeting.pairs.portions():
            left, right = meeting.left_places[portion[0]], meeting.right_places[portion[1]]
            pairs = pl.concat(
                [meeting.left.rows[left].select(columns[0]), meeting.right.rows[right].select(columns[1])],
                how="horizontal",
            )
            kept = keep_partners(pairs, self._spec.condition, self._spec.output_schema)
            meeting.left.have_partners[left[kept]] = True
            meeting.right.have_partners[right[kept]] = True
            yield from inserts(pairs[kept], self._spec.output_schema)

    def _give_lonely(self, rows: pl.DataFrame) -> Iterator[pa.Table]:
        known = [name for name in self._spec.output_schema.names if name in rows.columns]
        yield from inserts(rows.select(known), self._spec.output_schema)


def _places(side: Rows, part: Mask | None) -> NDArray[np.int64]:
    return np.arange(side.rows.height) if part is None else np.flatnonzero(part)


def _empty(schema: pa.Schema) -> pl.DataFrame:
    fields = [pa.field(HASH, pa.int64()), pa.field(TIME, pa.int64()), *schema]
    return pl.DataFrame(pa.schema(fields).empty_table())
