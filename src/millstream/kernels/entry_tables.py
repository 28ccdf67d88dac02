"""Which tables of individual values an aggregate keeps, and what a batch adds to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl
import pyarrow as pa

from millstream.aggregates.record import EntryKind
from millstream.kernels.entries import ENTRY, ID, NUMBER, SIGN, VALUE, VALUE_HASH, entry_hash
from millstream.kernels.entry_sums import add_up
from millstream.kernels.multiset import COUNT
from millstream.kernels.operator import ORDER, StateTableSpec
from millstream.kernels.origins import ORIGIN
from millstream.state.state_table import HASH

if TYPE_CHECKING:
    from collections.abc import Iterable

_MARK: Final = "__passed"
_OF_ANY_FILTER: Final = (EntryKind.SET, EntryKind.MULTISET)


@dataclass(frozen=True, slots=True)
class EntrySpec:
    """The values that a call needs; calls that need the same share them."""

    kind: EntryKind
    argument: str
    filter: str | None
    keeps_nulls: bool

    @property
    def _table(self) -> tuple[object, ...]:
        """What specs of one table have in common."""
        return (self.kind, self.argument, self.keeps_nulls, None if self.kind in _OF_ANY_FILTER else self.filter)


@dataclass(frozen=True, slots=True)
class EntryTableSpec:
    """The table of `specs` that differ in their filters at most; it has a count, or a mark, for each of them."""

    specs: tuple[EntrySpec, ...]

    @property
    def kind(self) -> EntryKind:
        return self.specs[0].kind

    @property
    def argument(self) -> str:
        return self.specs[0].argument

    @property
    def totals(self) -> tuple[str, ...]:
        """The columns of sets and multisets, one per filter."""
        return tuple(f"{_MARK if self.kind is EntryKind.SET else COUNT}_{n}" for n in range(len(self.specs)))

    def state_table(self, argument: pa.DataType) -> StateTableSpec:
        id_, count, number = (pa.field(name, pa.int64()) for name in (ID, COUNT, NUMBER))
        value = pa.field(VALUE, argument)
        match self.kind:
            case EntryKind.SET:
                return StateTableSpec((id_, value), tuple(pa.field(name, pa.bool_()) for name in self.totals))
            case EntryKind.MULTISET:
                return StateTableSpec((id_, value), tuple(pa.field(name, pa.int64()) for name in self.totals))
            case EntryKind.ARRIVALS:
                return StateTableSpec((id_, number), (value,))
            case EntryKind.PRESENCES:
                return StateTableSpec((id_, value), (count, number))

    def combine(self, rows: pl.DataFrame, value_hash: str, sign: pl.Expr | None) -> pl.DataFrame:
        """What one batch, whose rows know their origin, adds to the table."""
        value = pl.col(self.argument)
        if not self.specs[0].keeps_nulls:
            rows = rows.filter(value.is_not_null())
        filters = [spec.filter for spec in self.specs]
        conditions = [pl.col(name).fill_null(value=False) for name in filters if name is not None]
        if len(conditions) == len(filters):
            rows = rows.filter(pl.any_horizontal(conditions))
        one = (pl.lit(1) if sign is None else sign).cast(pl.Int64)
        if self.kind not in _OF_ANY_FILTER:
            hash_ = pl.col(value_hash).alias(VALUE_HASH)
            return rows.select(HASH, ORIGIN, value.alias(VALUE), hash_, ORDER, one.alias(SIGN))
        entry = entry_hash(pl.col(HASH), pl.col(value_hash)).alias(ENTRY)
        totals = [self._total(name, one).alias(column) for name, column in zip(filters, self.totals, strict=True)]
        combined = rows.select(HASH, ORIGIN, entry, value.alias(VALUE), *totals)
        return add_up(combined, [HASH, ORIGIN, VALUE], self.totals)

    def _total(self, filter_: str | None, one: pl.Expr) -> pl.Expr:
        passes = pl.lit(value=True) if filter_ is None else pl.col(filter_).fill_null(value=False)
        if self.kind is EntryKind.SET:
            return passes
        return one if filter_ is None else pl.when(passes).then(one).otherwise(0)


def entry_tables(specs: Iterable[EntrySpec]) -> dict[str, EntryTableSpec]:
    """By the names of the tables."""
    tables: dict[tuple[object, ...], list[EntrySpec]] = {}
    for spec in dict.fromkeys(specs):
        tables.setdefault(spec._table, []).append(spec)  # noqa: SLF001
    return {f"{found[0].kind}-{n}": EntryTableSpec(tuple(found)) for n, found in enumerate(tables.values())}
