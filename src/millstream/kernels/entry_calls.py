"""One table of individual values, and the calls that use it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import polars as pl
import pyarrow as pa

from millstream.aggregates.calls import OLD, Input
from millstream.aggregates.record import EntryKind
from millstream.aggregates.registry import aggregate_function
from millstream.kernels.arrivals import Arrivals
from millstream.kernels.entries import GROUP, ID, MISSED, NUMBER, SIGN, VALUE, Moves, number
from millstream.kernels.entry_sums import add_up
from millstream.kernels.listed_values import ListedValues
from millstream.kernels.multiset import Multiset
from millstream.kernels.origins import ORIGIN, join_groups
from millstream.kernels.presences import Presences
from millstream.kernels.value_set import ValueSet
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from millstream.aggregates.accumulators import Accumulator
    from millstream.kernels.aggregate import AggregateOperator
    from millstream.kernels.entry_tables import EntrySpec, EntryTableSpec
    from millstream.kernels.kept_values import KeptValue
    from millstream.kernels.operator import OpenTable
    from millstream.state.state_table import StateTable

    Entries = ValueSet | Multiset | Arrivals | Presences

EVENTS: Final = "__events"
"""How many rows a group has seen, including removed ones: the number of the next row."""


@dataclass(frozen=True, slots=True)
class FilterCalls:
    """The calls that use the values of one filter."""

    distinct: list[Accumulator]
    kept: list[KeptValue]
    listed: list[ListedValues]
    missed: str
    """The column of the frame that counts values to be removed that did not exist."""
    total: str | None
    """The column of the table that says which values passed the filter; None if all have."""

    @classmethod
    def of(cls, operator: AggregateOperator, spec: EntrySpec, missed: str, total: str | None) -> FilterCalls:
        calls = [call for call in operator.calls if operator.entries_of(call) == spec]
        distinct = [found for call in calls if (found := operator.accumulator(call)) is not None]
        listed = [ListedValues(call) for call in calls if aggregate_function(call.function).reads is not None]
        return cls(distinct, operator.kept_values(spec), listed, missed, total)


class EntryCalls:
    def __init__(self, operator: AggregateOperator, name: str, spec: EntryTableSpec, open_table: OpenTable) -> None:
        self._totals = spec.totals
        self.table = _open(spec, open_table(name))
        totals = spec.totals if isinstance(self.table, ValueSet | Multiset) else (None,)
        self._filters = [
            FilterCalls.of(operator, each, f"{MISSED}-{name}-{n}", total)
            for n, (each, total) in enumerate(zip(spec.specs, totals, strict=True))
        ]
        self.kept = [kept for calls in self._filters for kept in calls.kept]
        self.listed = [listed for calls in self._filters for listed in calls.listed]
        self.missed = [calls.missed for calls in self._filters]
        self._value = pa.field(VALUE, operator.schema.field(spec.argument).type)

    def step(self, frame: pl.DataFrame, part: pa.Table | None) -> pl.DataFrame:
        """Updates the table, and the calls' columns in the frame of groups."""
        frame = self.read(frame, OLD)
        moves = [self._no_moves()] * len(self._filters) if part is None else self._update(frame, part)
        for calls, moved in zip(self._filters, moves, strict=True):
            for kept in calls.kept:
                frame = kept.step(frame, moved, partial(self._values, calls))
            if calls.distinct:
                frame = frame.join(_steps(moved, calls.distinct), on=GROUP, how="left")
            frame = _add_missed(frame, moved, calls.missed)
        return self.read(frame, "")

    def _no_moves(self) -> Moves:
        nothing = pl.DataFrame(pa.schema([self._value, pa.field(NUMBER, pa.int64())]).empty_table())
        nothing = nothing.with_columns(pl.lit(0, dtype=pl.get_index_type()).alias(GROUP))
        return Moves(nothing, nothing)

    def _update(self, frame: pl.DataFrame, part: pa.Table) -> list[Moves]:
        if isinstance(self.table, ValueSet | Multiset):
            placed = join_groups(frame, pl.DataFrame(part), [GROUP, ID]).drop(HASH, ORIGIN)
            return self.table.update(add_up(placed, [GROUP, VALUE], self._totals))
        placed = join_groups(frame, pl.DataFrame(part), [GROUP, ID, OLD + EVENTS])
        return [self.table.update(number(placed, OLD + EVENTS), frame)]

    def _values(self, calls: FilterCalls, groups: pl.DataFrame) -> pl.DataFrame:
        """The values of these groups that passed the filter of these calls."""
        return self._of_filter(self.table.of_groups(groups), calls)

    def _of_filter(self, entries: pl.DataFrame, calls: FilterCalls) -> pl.DataFrame:
        if calls.total is None or not isinstance(self.table, ValueSet | Multiset):
            return entries
        return self.table.of_filter(entries, calls.total)

    def read(self, frame: pl.DataFrame, prefix: str) -> pl.DataFrame:
        """Adds the results of calls that need all values of a group."""
        if not self.listed:
            return frame
        entries = self.table.of_groups(frame)
        for calls in self._filters:
            for listed in calls.listed:
                frame = listed.read(frame, self._of_filter(entries, calls), prefix)
        return frame


def _open(spec: EntryTableSpec, table: StateTable) -> Entries:
    match spec.kind:
        case EntryKind.SET:
            return ValueSet(table, spec.totals)
        case EntryKind.MULTISET:
            return Multiset(table, spec.totals)
        case EntryKind.ARRIVALS:
            return Arrivals([VALUE], table)
        case EntryKind.PRESENCES:
            return Presences(table)


def _add_missed(frame: pl.DataFrame, moves: Moves, column: str) -> pl.DataFrame:
    if moves.missed is None or moves.missed.height == 0:
        return frame.hstack([pl.zeros(frame.height, pl.Int64, eager=True).alias(column)])
    per_group = moves.missed.group_by(GROUP).agg(pl.col(MISSED).sum().alias(column))
    return frame.join(per_group, on=GROUP, how="left")


def _steps(moves: Moves, owners: list[Accumulator]) -> pl.DataFrame:
    """What values that appeared or disappeared add to accumulators: DISTINCT."""
    steps = pl.concat(
        [
            moved.lazy().select(GROUP, VALUE, pl.lit(sign, dtype=pl.Int64).alias(SIGN))
            for moved, sign in ((moves.added, 1), (moves.removed, -1))
            if moved.height or sign == 1
        ]
    )
    rows = Input(pl.col(VALUE), pl.col(SIGN))
    return steps.group_by(GROUP).agg(column for owner in owners for column in owner.partial(rows)).collect()
