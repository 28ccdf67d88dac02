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
from millstream.kernels.changes import EXISTED, EXISTS, add_old_values, changelog, count_change
from millstream.kernels.entries import GROUP, ID, NUMBER, SIGN, VALUE, VALUE_HASH, number, number_groups
from millstream.kernels.entry_calls import EVENTS
from millstream.kernels.kept_values import KeptValue
from millstream.kernels.latest_rows import LatestRows
from millstream.kernels.operator import ORDER, ROWS, StateTableSpec, StepResult
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    watermark_delay_ms: ClassVar = 0

    keys: tuple[str, ...]
    schema: pa.Schema
    upsert_key: tuple[str, ...] = ()

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        row = pa.field(VALUE, pa.struct(list(self.schema)))
        id_, number, events = (pa.field(name, pa.int64()) for name in (ID, NUMBER, EVENTS))
        if self.upsert_key:
            rows = StateTableSpec((id_, *self._fields(self.rest_of_upsert_key)), (number, row))
        else:
            rows = StateTableSpec((id_, number), (row,))
        return {_KEYS: StateTableSpec(self._fields(self.keys), (id_, events, *self.shown.fields)), ROWS: rows}

    @property
    def rest_of_upsert_key(self) -> tuple[str, ...]:
        """What distinguishes the rows of a key."""
        return tuple(name for name in self.upsert_key if name not in self.keys)

    @property
    def shown(self) -> KeptValue:
        """The row that is in the sink."""
        return KeptValue(Call("row", "LAST_VALUE", VALUE), pa.struct(list(self.schema)))

    def _fields(self, names: tuple[str, ...]) -> tuple[pa.Field, ...]:
        return tuple(self.schema.field(name) for name in names)

    @property
    def output_schema(self) -> pa.Schema:
        return self.schema.append(pa.field(KIND, pa.int8()))

    def hashes(self, _: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.keys, _ROW_HASH: self.upsert_key or tuple(self.schema.names)}

    def needs_order(self, _: str) -> bool:
        return True

    def combine(self, _: str, batch: pa.Table) -> Parts:
        rows = pl.DataFrame(batch)
        keys = dict.fromkeys((*self.keys, *self.upsert_key))
        row = pl.struct(self.schema.names).alias(VALUE)
        return {
            ROWS: rows.select(
                HASH, *keys, row, pl.col(_ROW_HASH).alias(VALUE_HASH), ORDER, count_change(rows).alias(SIGN)
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
            self._rows = LatestRows(spec.rest_of_upsert_key, open_table(ROWS))
        else:
            self._rows = Arrivals([VALUE], open_table(ROWS))

    def step(self, parts: Parts, _: BatchTime) -> StepResult:
        events = pl.DataFrame(parts[ROWS])
        group = [HASH, *self._spec.keys]
        frame = self._look_up_old(events.group_by(group).agg(pl.len().cast(pl.Int64).alias(EVENTS)))
        placed = _join_groups(frame.select(GROUP, ID, OLD + EVENTS, *group), events, group)
        moves = self._rows.update(number(placed, OLD + EVENTS), frame)
        frame = self._shown.step(frame, moves, self._rows.of_groups).with_columns(
            (pl.col(EVENTS) + pl.col(OLD + EVENTS).fill_null(0)).alias(EVENTS),
            self._shown.result("").is_not_null().alias(EXISTS),
        )
        kept = [ID, EVENTS, *(field.name for field in self._shown.fields)]
        touched = frame.filter(pl.col(EXISTED) | pl.col(EXISTS))
        written = touched.select(*group, *kept, (~pl.col(EXISTS)).alias(DEAD))
        self._keys.put(written.to_arrow(), replaced=int(touched[EXISTED].sum()))
        return StepResult((self._changes(touched),), moves.ignored)

    def _look_up_old(self, groups: pl.DataFrame) -> pl.DataFrame:
        found = self._keys.lookup(groups[[HASH, *self._spec.keys]].to_arrow())
        return number_groups(add_old_values(groups, found).with_row_index(GROUP), self._keys)

    def _changes(self, frame: pl.DataFrame) -> pa.Table:
        values = [name for name in self._spec.schema.names if name not in self._spec.keys]
        images = [
            self._shown.result(prefix).struct.field(name).alias(prefix + name)
            for name in values
            for prefix in ("", OLD)
        ]
        return changelog(
            frame.lazy().select(*self._spec.keys, *images, EXISTED, EXISTS),
            self._spec.keys,
            self._spec.output_schema,
            emits_before=False,
        )


def _join_groups(groups: pl.DataFrame, rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Rows with the columns of their group. `key` begins with the hash, which usually identifies a group by itself."""
    if groups[HASH].n_unique() == groups.height:
        return rows.join(groups.drop(key[1:]), on=HASH)
    return rows.join(groups, on=key, nulls_equal=True)
