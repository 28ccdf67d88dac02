"""OVER in order of time: each row with what is computed from the rows of its partition before it; every row once.

By event time, a row waits until the watermark passes it; by processing time, rows follow one another as they arrive.
Of the rows before, only those are kept that a later frame may reach, or what they add up to where a frame has no start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

import polars as pl
import pyarrow as pa

from millstream.aggregates.accumulators import ROW_COUNT
from millstream.aggregates.registry import aggregate_function
from millstream.changelog import KIND
from millstream.kernels.entries import NUMBER
from millstream.kernels.operator import ORDER, ROWS, StateTableSpec
from millstream.kernels.over_calls import result_fields
from millstream.kernels.over_kernel import ENDS, GROUPS, KEPT, PARTITION, SEEN, TIME, TIME_COUNT, WAITING, OverKernel
from millstream.kernels.row_order import RowOrder, SortKey
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.aggregates.accumulators import Accumulator
    from millstream.aggregates.calls import Call
    from millstream.kernels.operator import Kernel, OpenTable, Parts
    from millstream.kernels.over_calls import FrameCall, Numbering, Shift

_ALL_ROWS: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class OverOperator:
    """`schema` has all columns; of them `keys` are those of the partition, and `time` that of the order."""

    inputs: ClassVar = (ROWS,)
    watermark_delay_ms: ClassVar = 0

    schema: pa.Schema
    keys: tuple[str, ...]
    time: str | None
    """The event-time attribute by which rows are ordered; None for processing time."""
    calls: tuple[FrameCall, ...] = ()
    lags: tuple[Shift, ...] = ()
    numberings: tuple[Numbering, ...] = ()
    """ROW_NUMBER, RANK and DENSE_RANK."""
    expires: bool = False
    """State has a TTL: the rows of a partition are kept for as long as rows of it arrive."""

    @property
    def needs_time(self) -> bool:
        return self.time is not None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        return {field.name: field.type for field in self.schema}

    @property
    def listed_calls(self) -> tuple[FrameCall, ...]:
        """Those that are computed from the rows in the frame."""
        return tuple(call for call in self.calls if call.frame.preceding is not None or _reads_all_values(call.call))

    @property
    def added_calls(self) -> tuple[FrameCall, ...]:
        """Those of frames without a start to which rows are added."""
        return tuple(call for call in self.calls if call not in self.listed_calls)

    @property
    def seen(self) -> tuple[tuple[str, str | None], ...]:
        """For DISTINCT in frames without a start: the columns, with those of their filters."""
        found = ((call.call.argument, call.call.filter) for call in self.added_calls if call.call.distinct)
        return tuple(dict.fromkeys((argument, filter_) for argument, filter_ in found if argument is not None))

    @property
    def kept_rows(self) -> int:
        """So many of the last rows of each partition may be asked for again."""
        by_rows = (
            _ALL_ROWS if call.frame.preceding is None else call.frame.preceding
            for call in self.listed_calls
            if not (call.frame.by_time and call.frame.preceding is not None)
        )
        return max((*by_rows, *(lag.offset for lag in self.lags)), default=0)

    @property
    def kept_ms(self) -> int | None:
        """Rows as old as that may be asked for again; None if age does not matter."""
        by_time = (call.frame.preceding for call in self.calls if call.frame.by_time)
        return max((length for length in by_time if length is not None), default=None)

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """What is read of earlier rows."""
        read = {name for call in self.listed_calls for name in call.inputs} | {lag.argument for lag in self.lags}
        return tuple(name for name in self.columns if name in read and name not in self.keys)

    @property
    def keeps_rows(self) -> bool:
        return bool(self.listed_calls or self.lags)

    @property
    def keeps_groups(self) -> bool:
        return bool(self.added_calls or self.numberings)

    @property
    def row_order(self) -> RowOrder:
        by_time = (SortKey(TIME),) if self.time is not None else ()
        return RowOrder(self.keys, (*by_time, SortKey(NUMBER)))

    def accumulators(self) -> list[Accumulator]:
        """Those of `added_calls`. A value that was there before does not count again for DISTINCT."""
        found = []
        for each in self.added_calls:
            call, accumulator = each.call, aggregate_function(each.call.function).accumulator
            assert accumulator is not None
            if call.distinct:
                assert call.argument is not None
                call = replace(call, distinct=False, filter=seen_table(self.seen.index((call.argument, call.filter))))
            found.append(accumulator(call, self.types.get(call.argument or "")))
        return found

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        keys = tuple(self.schema.field(name) for name in self.keys)
        number, time, partition = (pa.field(name, pa.int64()) for name in (NUMBER, TIME, PARTITION))
        tables: dict[str, StateTableSpec] = {}
        if self.time is not None:
            tables[WAITING] = StateTableSpec((number,), (partition, *self.schema), ttl_ms=0)
        if self.keeps_rows:
            kept = tuple(self.schema.field(name) for name in self.kept_columns)
            tables[KEPT] = StateTableSpec((*keys, number), (time, *kept))
        if self.kept_ms is not None:
            tables[ENDS] = StateTableSpec(keys, (partition,))
        if self.keeps_groups:
            counts = tuple(pa.field(name, pa.int64()) for name in (ROW_COUNT, TIME_COUNT))
            tables[GROUPS] = StateTableSpec(
                keys, (*counts, *(field for each in self.accumulators() for field in each.fields))
            )
        for place, (argument, _) in enumerate(self.seen):
            others = () if argument in self.keys else (self.schema.field(argument),)
            tables[seen_table(place)] = StateTableSpec((*keys, *others), (partition,))
        return tables

    @property
    def output_schema(self) -> pa.Schema:
        results = result_fields(self.types, self.calls, self.lags, self.numberings)
        return pa.schema([*self.schema, *results, pa.field(KIND, pa.int8())])

    def hashes(self, _: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.keys}

    def needs_order(self, _: str) -> bool:
        return True

    def combine(self, _: str, batch: pa.Table) -> Parts:
        """Every row is a row of the result."""
        rows = pl.DataFrame(batch)
        return {ROWS: rows.select(HASH, *self.columns, pl.col(ORDER).alias(NUMBER)).to_arrow()}

    def open(self, open_table: OpenTable) -> Kernel:
        return OverKernel(self, open_table)


def seen_table(place: int) -> str:
    return f"{SEEN}{place}"


def _reads_all_values(call: Call) -> bool:
    return aggregate_function(call.function).accumulator is None
