"""Turns upserts and tombstones into a complete changelog: what a row means depends on the previous row of its key.

A new key gives +I, a different row +U, the same row nothing, and a tombstone -D with the full stored row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import polars as pl
import pyarrow as pa

from millstream.changelog import KIND
from millstream.kernels.changes import EXISTED, EXISTS, add_old_values, changelog, is_added, values_differ
from millstream.kernels.operator import ORDER, ROWS, StateTableSpec, StepResult
from millstream.state.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.kernels.operator import BatchTime, OpenTable, Parts

_COMES: Final = "__comes"


@dataclass(frozen=True, slots=True)
class NormaliseOperator:
    """`schema` has all columns, including those of the primary key (`keys`).

    -U deletes the stored row like -D, so that duplicate change events have no effect.
    """

    inputs: ClassVar = (ROWS,)
    needs_time: ClassVar = False
    watermark_delay_ms: ClassVar = 0

    keys: tuple[str, ...]
    schema: pa.Schema
    emits_before: bool = False
    """Whether an update is preceded by -U with the old row."""
    filter: str | None = None
    """A boolean column in addition to the schema: rows where it is not true count as deleted, and are never stored."""
    expires: bool = False
    """State has a TTL: an unchanged row is emitted as an update, which keeps the state of readers alive."""

    @property
    def state_tables(self) -> Mapping[str, StateTableSpec]:
        keys = tuple(self.schema.field(name) for name in self.keys)
        return {ROWS: StateTableSpec(keys, tuple(self.schema.field(name) for name in self.values))}

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(name for name in self.schema.names if name not in self.keys)

    @property
    def output_schema(self) -> pa.Schema:
        return self.schema.append(pa.field(KIND, pa.int8()))

    def hashes(self, _: str) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.keys}

    def needs_order(self, _: str) -> bool:
        return True

    def combine(self, _: str, batch: pa.Table) -> Parts:
        """The last row of each key: readers do not see the states of a key within a batch."""
        rows = pl.DataFrame(batch)
        comes = is_added(rows)
        rows = rows.with_columns((pl.lit(value=True) if comes is None else comes).alias(_COMES))
        matches = pl.lit(value=True) if self.filter is None else pl.col(self.filter).fill_null(value=False)
        exists = (pl.col(_COMES) & matches).alias(EXISTS)
        return {ROWS: self.last(rows).select(HASH, ORDER, _COMES, exists, *self.schema.names).to_arrow()}

    def last(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.sort(ORDER).unique([HASH, *self.keys], keep="last", maintain_order=True)

    def open(self, open_table: OpenTable) -> NormaliseKernel:
        return NormaliseKernel(self, open_table)


class NormaliseKernel:
    """The keys of one bucket, opened for one batch."""

    def __init__(self, spec: NormaliseOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._stored = open_table(ROWS)

    def step(self, parts: Parts, _: BatchTime) -> StepResult:
        rows = self._spec.last(pl.DataFrame(parts[ROWS]))
        found = self._stored.lookup(rows[[HASH, *self._spec.keys]].to_arrow())
        images = add_old_values(rows, found)
        existed, exists = pl.col(EXISTED), pl.col(EXISTS)
        ignored = images.filter(~existed & ~pl.col(_COMES)).height
        changed = images.filter(
            pl.when(existed & exists)
            .then(values_differ(self._spec.values) | self._spec.expires)
            .otherwise(existed | exists)
        )
        written = changed.select(HASH, *self._spec.schema.names, (~exists).alias(DEAD))
        self._stored.put(written.to_arrow(), replaced=int(changed[EXISTED].sum()))
        changes = changelog(
            changed.lazy(),
            self._spec.keys,
            self._spec.output_schema,
            emits_before=self._spec.emits_before,
            emits_unchanged=self._spec.expires,
        )
        return StepResult((changes,), ignored)
