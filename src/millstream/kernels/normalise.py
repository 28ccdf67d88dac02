"""A topic of upserts and tombstones as a proper changelog: what a row does depends on the row its key had.

A key that was not there gives +I, another row +U, the same row nothing, a tombstone -D of the full row that is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl
import pyarrow as pa

from millstream.aggregates.calls import OLD
from millstream.changelog import KIND
from millstream.kernels.changes import EXISTED, EXISTS, changelog, coming, differing
from millstream.kernels.operator import ORDER
from millstream.kernels.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.kernels.operator import OpenTable

_ROWS: Final = "rows"
_COMES: Final = "__comes"


@dataclass(frozen=True, slots=True)
class NormaliseOperator:
    """`schema` has all columns, the primary key's (`keys`) among them.

    -U deletes the stored row as -D does, so that doubled change events come out once.
    """

    keys: tuple[str, ...]
    schema: pa.Schema
    emits_before: bool = False
    """Whether an update is preceded by -U with the old row."""
    filter: str | None = None
    """A boolean column beside the schema's: rows where it is not true are as if deleted, and never stored."""
    expires: bool = False
    """State has a time to live: the same row again is an update, which keeps the readers' state alive."""

    @property
    def table_names(self) -> tuple[str, ...]:
        return (_ROWS,)

    @property
    def output_schema(self) -> pa.Schema:
        return self.schema.append(pa.field(KIND, pa.int8()))

    @property
    def hashes(self) -> Mapping[str, tuple[str, ...]]:
        return {HASH: self.keys}

    @property
    def needs_order(self) -> bool:
        return True

    def combine(self, batch: pa.Table) -> dict[str, pa.Table]:
        """The last row of each key: what a key was in between, no reader of batches sees."""
        rows = pl.DataFrame(batch)
        comes = coming(rows)
        rows = rows.with_columns((pl.lit(value=True) if comes is None else comes).alias(_COMES))
        matches = pl.lit(value=True) if self.filter is None else pl.col(self.filter).fill_null(value=False)
        exists = (pl.col(_COMES) & matches).alias(EXISTS)
        return {_ROWS: self.last(rows).select(HASH, ORDER, _COMES, exists, *self.schema.names).to_arrow()}

    def last(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.sort(ORDER).unique([HASH, *self.keys], keep="last", maintain_order=True)

    def open(self, open_table: OpenTable) -> NormaliseKernel:
        return NormaliseKernel(self, open_table)


class NormaliseKernel:
    """One bucket's keys, opened for one batch."""

    def __init__(self, spec: NormaliseOperator, open_table: OpenTable) -> None:
        self.ignored = 0
        self._spec = spec
        self._values = [name for name in spec.schema.names if name not in spec.keys]
        self._stored = open_table(
            _ROWS,
            tuple(spec.schema.field(name) for name in spec.keys),
            tuple(spec.schema.field(name) for name in self._values),
        )

    def step(self, parts: Mapping[str, pa.Table]) -> pa.Table:
        rows = self._spec.last(pl.DataFrame(parts[_ROWS]))
        found = self._stored.lookup(rows.select(HASH, *self._spec.keys).to_arrow())
        old = pl.DataFrame(found.values).rename(lambda name: OLD + name)
        images = pl.concat([rows, old, pl.DataFrame({EXISTED: found.mask})], how="horizontal")
        existed, exists = pl.col(EXISTED), pl.col(EXISTS)
        self.ignored += images.filter(~existed & ~pl.col(_COMES)).height
        changed = images.filter(
            pl.when(existed & exists).then(differing(self._values) | self._spec.expires).otherwise(existed | exists)
        )
        self._stored.put(changed.select(HASH, *self._spec.schema.names, (~exists).alias(DEAD)).to_arrow())
        return changelog(
            changed,
            self._spec.keys,
            self._spec.output_schema,
            emits_before=self._spec.emits_before,
            emits_unchanged=self._spec.expires,
        )
