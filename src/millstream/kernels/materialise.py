"""For upsert sinks whose primary key is not the query's upsert key: several rows may have the same primary key.

All rows of a key are stored in order of arrival. The latest is the one in the sink; when it is retracted, the previous
one takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import polars as pl
import pyarrow as pa

from millstream.aggregates.calls import OLD, Call
from millstream.changelog import KIND
from millstream.kernels.arrivals import Arrivals
from millstream.kernels.changes import EXISTED, EXISTS, changelog, is_added
from millstream.kernels.entries import GROUP, NUMBER, SIGN, VALUE, VALUE_HASH, number
from millstream.kernels.entry_calls import EVENTS
from millstream.kernels.kept_values import KeptValue
from millstream.kernels.latest_rows import LatestRows
from millstream.kernels.operator import ORDER, ROWS, StateTableSpec, StepResult
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.kernels.operator import BatchTime, OpenTable, Parts

_KEYS: Final = "keys"
_ROW_HASH: Final = "__hash_row"


@dataclass(frozen=True, slots=True)
class MaterialiseOperator:
    """`keys` is the sink's primary key, `schema` all columns.

    With an upsert key, a row replaces or retracts the row with the same upsert key; otherwise the earliest equal row.
    """

    inputs: ClassVar = (ROWS,)
    needs_time: ClassVar = False

    keys: tuple[str, ...]
    schema: pa.Schema
    upsert_key: tuple[str, ...] = ()

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        row, number = pa.field(VALUE, pa.struct(list(self.schema))), pa.field(NUMBER, pa.int64())
        keys = self._fields(self.keys)
        if self.upsert_key:
            rows = StateTableSpec(self._fields((*self.keys, *self.upsert_key)), (number, row))
        else:
            rows = StateTableSpec((*keys, number), (row,))
        return {_KEYS: StateTableSpec(keys, (pa.field(EVENTS, pa.int64()), *self.shown.fields)), ROWS: rows}

    @property
    def shown(self) -> KeptValue:
        """The row that is in the sink."""
        return KeptValue(Call("row", "LAST_VALUE", VALUE), pa.struct(list(self.schema)))

    def _fields(self, names: tuple[str, ...]) -> tuple[pa.Field, ...]:
        return tuple(self.schema.field(name) for name in dict.fromkeys(names))

    @property
    def output_schema(self) -> pa.Schema:
        return self.schema.append(pa.field(KIND, pa.int8()))

    def hashes(self, _: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.keys, _ROW_HASH: self.upsert_key or tuple(self.schema.names)}

    def needs_order(self, _: str) -> bool:
        return True

    def combine(self, _: str, batch: pa.Table) -> Parts:
        rows = pl.DataFrame(batch)
        comes = is_added(rows)
        sign = pl.lit(1) if comes is None else pl.when(comes).then(1).otherwise(-1)
        keys = dict.fromkeys((*self.keys, *self.upsert_key))
        row = pl.struct(self.schema.names).alias(VALUE)
        return {
            ROWS: rows.select(
                HASH, *keys, row, pl.col(_ROW_HASH).alias(VALUE_HASH), ORDER, sign.cast(pl.Int64).alias(SIGN)
            ).to_arrow()
        }

    def open(self, open_table: OpenTable) -> MaterialiseKernel:
        return MaterialiseKernel(self, open_table)


class MaterialiseKernel:
    """The keys of one bucket, opened for one batch."""

    def __init__(self, spec: MaterialiseOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._shown = spec.shown
        self._keys = open_table(_KEYS)
        self._rows: Arrivals | LatestRows
        if spec.upsert_key:
            self._rows = LatestRows(spec.keys, spec.upsert_key, open_table(ROWS))
        else:
            self._rows = Arrivals(spec.keys, [VALUE], open_table(ROWS))

    def step(self, parts: Parts, _: BatchTime) -> StepResult:
        events = pl.DataFrame(parts[ROWS])
        group = [HASH, *self._spec.keys]
        frame = self._look_up_old(events.group_by(group).agg(pl.len().cast(pl.Int64).alias(EVENTS)))
        moves = self._rows.update(number(events, frame, OLD + EVENTS, group), frame)
        frame = self._shown.step(frame, moves, self._rows).with_columns(
            (pl.col(EVENTS) + pl.col(OLD + EVENTS).fill_null(0)).alias(EVENTS),
            self._shown.result("").is_not_null().alias(EXISTS),
        )
        kept = [EVENTS, *(field.name for field in self._shown.fields)]
        touched = frame.filter(pl.col(EXISTED) | pl.col(EXISTS))
        self._keys.put(touched.select(*group, *kept, (~pl.col(EXISTS)).alias(DEAD)).to_arrow())
        return StepResult((self._changes(touched),), moves.ignored)

    def _look_up_old(self, groups: pl.DataFrame) -> pl.DataFrame:
        found = self._keys.lookup(groups.select(HASH, *self._spec.keys).to_arrow())
        old = pl.DataFrame(found.values).rename(lambda name: OLD + name)
        existed = pl.DataFrame({EXISTED: found.mask})
        return pl.concat([groups, old, existed], how="horizontal").with_row_index(GROUP)

    def _changes(self, frame: pl.DataFrame) -> pa.Table:
        values = [name for name in self._spec.schema.names if name not in self._spec.keys]
        images = [
            self._shown.result(prefix).struct.field(name).alias(prefix + name)
            for name in values
            for prefix in ("", OLD)
        ]
        return changelog(
            frame.select(*self._spec.keys, *images, EXISTED, EXISTS),
            self._spec.keys,
            self._spec.output_schema,
            emits_before=False,
        )
