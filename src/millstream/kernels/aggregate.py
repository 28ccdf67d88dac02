"""GROUP BY, maintained incrementally: what a batch adds to each group is added to the group's stored state.

Each group has one row of accumulators. Functions that need individual values store them in separate tables, one per
argument; the cost of a batch is proportional to what it touches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import polars as pl
import pyarrow as pa

from millstream.aggregates.accumulators import ROW_COUNT
from millstream.aggregates.calls import Call, Input
from millstream.aggregates.record import KeepsValues
from millstream.aggregates.registry import aggregate_function
from millstream.changelog import KIND
from millstream.kernels.aggregate_kernel import GROUPS, AggregateKernel
from millstream.kernels.changes import is_added
from millstream.kernels.entries import ID
from millstream.kernels.entry_calls import EVENTS
from millstream.kernels.entry_tables import EntrySpec, entry_tables
from millstream.kernels.kept_values import KeptValue
from millstream.kernels.operator import ORDER, ROWS, StateTableSpec
from millstream.kernels.origins import group_rows
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.aggregates.accumulators import Accumulator, CallColumns
    from millstream.kernels.entry_tables import EntryTableSpec
    from millstream.kernels.operator import OpenTable, Parts

__all__ = ["AggregateOperator", "Call"]

_ONE_HASH: Final = "__hash_"


@dataclass(frozen=True, slots=True)
class AggregateOperator:
    """What to compute, and from what: `schema` has the keys, the arguments and the filters."""

    inputs: ClassVar = (ROWS,)
    needs_time: ClassVar = False
    watermark_delay_ms: ClassVar = 0

    keys: tuple[str, ...]
    calls: tuple[Call, ...]
    schema: pa.Schema
    emits_before: bool = False
    """Whether an update is preceded by -U with the old row."""
    insert_only: bool = False
    """No row is ever retracted, so some functions need no individual values."""
    repeats: bool = False
    """Unchanged results are emitted too: with a TTL, the state of a reader must not expire before this one's."""

    def entries_of(self, call: Call) -> EntrySpec | None:
        """Where the call's individual values are stored, if it needs them."""
        function = aggregate_function(call.function)
        kind = function.entry_kind(distinct=call.distinct, insert_only=self.insert_only)
        if kind is None or call.argument is None:
            return None
        return EntrySpec(kind, call.argument, call.filter, function.keeps_nulls)

    @property
    def entry_tables(self) -> dict[str, EntryTableSpec]:
        return entry_tables(spec for call in self.calls if (spec := self.entries_of(call)))

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        tables = self.entry_tables
        accumulators = [found for call in self.calls if (found := self.accumulator(call)) is not None]
        owners: list[CallColumns] = [
            *accumulators,
            *(kept for table in tables.values() for spec in table.specs for kept in self.kept_values(spec)),
        ]
        counters = [pa.field(name, pa.int64()) for name in (*self.counters, *([ID] if tables else []))]
        groups = StateTableSpec(self.key_fields, (*counters, *(field for owner in owners for field in owner.fields)))
        return {GROUPS: groups} | {
            name: spec.state_table(self.schema.field(spec.argument).type) for name, spec in tables.items()
        }

    @property
    def counters(self) -> tuple[str, ...]:
        """What is counted for each group, whatever the calls are."""
        return (ROW_COUNT, EVENTS) if self.needs_order(ROWS) else (ROW_COUNT,)

    def kept_values(self, spec: EntrySpec) -> list[KeptValue]:
        type_ = self.schema.field(spec.argument).type
        calls = (call for call in self.calls if self.entries_of(call) == spec)
        return [KeptValue(call, type_) for call in calls if aggregate_function(call.function).leader is not None]

    def hashes(self, _: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.keys} | {self._value_hash(table): (table.argument,) for table in self.entry_tables.values()}

    def needs_order(self, _: str) -> bool:
        return any(aggregate_function(call.function).needs_order for call in self.calls)

    @property
    def key_fields(self) -> tuple[pa.Field, ...]:
        return tuple(self.schema.field(key) for key in self.keys)

    @property
    def output_schema(self) -> pa.Schema:
        results = [pa.field(call.output, self._result_type(call)) for call in self.calls]
        return pa.schema([*self.key_fields, *results, pa.field(KIND, pa.int8())])

    def _result_type(self, call: Call) -> pa.DataType:
        return aggregate_function(call.function).result_type(self.argument_type(call))

    def argument_type(self, call: Call) -> pa.DataType | None:
        return None if call.argument is None else self.schema.field(call.argument).type

    def _value_hash(self, table: EntryTableSpec) -> str:
        return _ONE_HASH + table.argument

    def accumulator(self, call: Call) -> Accumulator | None:
        """None if the call needs individual values; with DISTINCT, an accumulator adds up those that are new."""
        function = aggregate_function(call.function)
        if function.keeps_values is not KeepsValues.NEVER and self.entries_of(call) is not None:
            return None
        assert function.accumulator is not None
        return function.accumulator(call, self.argument_type(call))

    def combine(self, _: str, batch: pa.Table) -> Parts:
        """What one batch adds, per group and per value: far fewer rows than its input."""
        rows = pl.DataFrame(batch)
        comes = is_added(rows)
        sign = None if comes is None else pl.when(comes).then(1).otherwise(-1)
        weight = (pl.len() if sign is None else sign.sum()).cast(pl.Int64)
        sums = [weight.alias(ROW_COUNT), *([pl.len().cast(pl.Int64).alias(EVENTS)] if EVENTS in self.counters else [])]
        for call in self.calls:
            accumulator = self.accumulator(call)
            if accumulator is not None and self.entries_of(call) is None:
                sums += accumulator.partial(Input(_filtered_argument(call), sign, pl.col(ORDER)))
        tables = self.entry_tables
        if not tables:
            return {GROUPS: rows.group_by(HASH, *self.keys).agg(sums).to_arrow()}
        groups, rows = group_rows(rows, self.keys, sums)
        return {GROUPS: groups.to_arrow()} | {
            name: table.combine(rows, self._value_hash(table), sign).to_arrow() for name, table in tables.items()
        }

    def open(self, open_table: OpenTable) -> AggregateKernel:
        return AggregateKernel(self, open_table)


def _filtered_argument(call: Call) -> pl.Expr:
    """The argument, NULL in rows that the filter excludes."""
    value = pl.lit(1) if call.argument is None else pl.col(call.argument)
    return value if call.filter is None else pl.when(pl.col(call.filter)).then(value)
