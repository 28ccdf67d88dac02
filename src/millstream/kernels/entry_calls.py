"""One table of individual values, and the calls that use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl
import pyarrow as pa

from millstream.aggregates.calls import OLD, Input
from millstream.aggregates.record import EntryKind
from millstream.aggregates.registry import aggregate_function
from millstream.kernels.arrivals import Arrivals
from millstream.kernels.entries import ENTRY, GROUP, MISSED, NUMBER, SIGN, VALUE, Moves, join_groups, number
from millstream.kernels.listed_values import ListedValues
from millstream.kernels.multiset import COUNT, Multiset
from millstream.kernels.operator import StateTableSpec
from millstream.kernels.presences import Presences
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from millstream.kernels.aggregate import AggregateOperator
    from millstream.kernels.operator import OpenTable

EVENTS: Final = "__events"
"""How many rows a group has seen, including removed ones: the number of the next row."""


@dataclass(frozen=True, slots=True)
class EntrySpec:
    """One table of values; calls that need the same of the same argument share it."""

    kind: EntryKind
    argument: str
    filter: str | None
    keeps_nulls: bool

    def table(self, keys: tuple[pa.Field, ...], argument: pa.DataType) -> StateTableSpec:
        value, count, number = pa.field(VALUE, argument), pa.field(COUNT, pa.int64()), pa.field(NUMBER, pa.int64())
        match self.kind:
            case EntryKind.MULTISET:
                return StateTableSpec((*keys, value), (count,))
            case EntryKind.ARRIVALS:
                return StateTableSpec((*keys, number), (value,))
            case EntryKind.PRESENCES:
                return StateTableSpec((*keys, value), (count, number))


class EntryCalls:
    def __init__(self, spec: AggregateOperator, name: str, entries: EntrySpec, open_table: OpenTable) -> None:
        self._keys = spec.keys
        self.missed = f"{MISSED}-{name}"
        """The column of the frame that counts entries to be removed that did not exist."""
        calls = [call for call in spec.calls if spec.entries_of(call) == entries]
        self._distinct = [found for call in calls if (found := spec.accumulator(call)) is not None]
        self.kept = spec.kept_values(entries)
        functions = {call: aggregate_function(call.function) for call in calls}
        self.listed = [ListedValues(call) for call, function in functions.items() if function.reads is not None]
        self.table: Multiset | Arrivals | Presences
        match entries.kind:
            case EntryKind.MULTISET:
                self.table = Multiset(spec.keys, open_table(name))
            case EntryKind.ARRIVALS:
                self.table = Arrivals(spec.keys, [VALUE], open_table(name))
            case EntryKind.PRESENCES:
                self.table = Presences(spec.keys, open_table(name))
        value = pa.field(VALUE, spec.schema.field(entries.argument).type)
        no_moves = pa.schema([value, pa.field(NUMBER, pa.int64())]).empty_table()
        self._nothing = pl.DataFrame(no_moves).with_columns(pl.lit(0, dtype=pl.get_index_type()).alias(GROUP))

    def step(self, frame: pl.DataFrame, part: pa.Table | None) -> pl.DataFrame:
        """Updates the table, and the calls' columns in the frame of groups."""
        frame = self._read(frame, OLD)
        moves = Moves(self._nothing, self._nothing) if part is None else self._update(frame, pl.DataFrame(part))
        for kept in self.kept:
            frame = kept.step(frame, moves, self.table)
        if self._distinct:
            frame = frame.join(self._steps(moves), on=GROUP, how="left")
        return self._read(self._add_missed(frame, moves), "")

    def _add_missed(self, frame: pl.DataFrame, moves: Moves) -> pl.DataFrame:
        if moves.missed is None or moves.missed.height == 0:
            return frame.with_columns(pl.lit(0, dtype=pl.Int64).alias(self.missed))
        per_group = moves.missed.group_by(GROUP).agg(pl.col(MISSED).sum().alias(self.missed))
        return frame.join(per_group, on=GROUP, how="left")

    def _update(self, frame: pl.DataFrame, part: pl.DataFrame) -> Moves:
        group = [HASH, *self._keys]
        if isinstance(self.table, Multiset):
            placed = join_groups(frame.select(GROUP, *group), part, group)
            weights = placed.group_by(GROUP, ENTRY, VALUE).agg(
                pl.col(COUNT).sum(), *(pl.col(key).first() for key in self._keys)
            )
            return self.table.update(weights)
        return self.table.update(number(part, frame, OLD + EVENTS, group), frame)

    def _steps(self, moves: Moves) -> pl.DataFrame:
        """What values that appeared or disappeared add to accumulators: DISTINCT."""
        steps = pl.concat(
            [
                moves.added.select(GROUP, VALUE, pl.lit(1, dtype=pl.Int64).alias(SIGN)),
                moves.removed.select(GROUP, VALUE, pl.lit(-1, dtype=pl.Int64).alias(SIGN)),
            ]
        )
        rows = Input(pl.col(VALUE), pl.col(SIGN))
        return steps.group_by(GROUP).agg(column for owner in self._distinct for column in owner.partial(rows))

    def _read(self, frame: pl.DataFrame, prefix: str) -> pl.DataFrame:
        if not self.listed:
            return frame
        entries = self.table.of_groups(frame)
        for listed in self.listed:
            frame = listed.read(frame, entries, prefix)
        return frame
