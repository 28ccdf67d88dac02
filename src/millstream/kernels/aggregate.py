"""GROUP BY, kept up to date: what a batch adds to each group is added to what the group had.

COUNT and SUM are linear: an insert adds, a retraction subtracts. DISTINCT goes through a table of
(group, value) -> how often, whose steps between none and some are what the group's result feels.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl
import pyarrow as pa

from millstream.changelog import KIND, RowKind
from millstream.kernels.state_table import DEAD, HASH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from millstream.kernels.operator import OpenTable
    from millstream.kernels.state_table import StateTable

GROUPS: Final = "groups"
_ROWS: Final = "__rows"
_OLD: Final = "__old"


class Function(StrEnum):
    COUNT_STAR = "count-star"
    COUNT = "count"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Call:
    """One aggregate: `output` is the column of its result, `argument` that of its input."""

    output: str
    function: Function
    argument: str | None = None
    distinct: bool = False

    @property
    def count(self) -> str:
        """Accumulator: how many non-null values."""
        return f"__count_{self.output}"

    @property
    def sum(self) -> str:
        """Accumulator: their sum."""
        return f"__sum_{self.output}"


@dataclass(frozen=True, slots=True)
class AggregateOperator:
    """What to compute, and of what: `schema` has the keys and the arguments (BIGINT, DOUBLE or DECIMAL for SUM)."""

    keys: tuple[str, ...]
    calls: tuple[Call, ...]
    schema: pa.Schema

    @property
    def distinct_arguments(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(call.argument for call in self.calls if call.distinct and call.argument))

    def value_hash(self, argument: str) -> str:
        """The column with the hash of keys and argument together."""
        return f"__hash_{argument}"

    def value_columns(self, argument: str) -> tuple[str, ...]:
        """What tells one distinct value from another: the group's keys and the argument, which may be one of them."""
        return tuple(dict.fromkeys((*self.keys, argument)))

    def key_fields(self) -> tuple[pa.Field, ...]:
        return tuple(self.schema.field(key) for key in self.keys)

    def accumulators(self) -> tuple[pa.Field, ...]:
        fields = [pa.field(_ROWS, pa.int64())]
        for call in self.calls:
            if call.function is not Function.COUNT_STAR:
                fields.append(pa.field(call.count, pa.int64()))
            if call.function is Function.SUM:
                fields.append(pa.field(call.sum, self.schema.field(call.argument).type))
        return tuple(fields)

    @property
    def table_names(self) -> tuple[str, ...]:
        return (GROUPS, *(f"distinct-{number}" for number in range(len(self.distinct_arguments))))

    @property
    def output_schema(self) -> pa.Schema:
        results = [
            pa.field(
                call.output,
                self.schema.field(call.argument).type if call.function is Function.SUM else pa.int64(),
            )
            for call in self.calls
        ]
        return pa.schema([*self.key_fields(), *results, pa.field(KIND, pa.int8())])

    def combine(self, batch: pa.Table) -> dict[str, pa.Table]:
        """What one batch of rows adds, per group and per distinct value: far fewer rows than came in."""
        rows = pl.DataFrame(batch)
        sign = (
            pl.when(pl.col(KIND).is_in([RowKind.INSERT, RowKind.UPDATE_AFTER])).then(1).otherwise(-1)
            if KIND in rows.columns
            else None
        )
        weight = (pl.len() if sign is None else sign.sum()).cast(pl.Int64).alias(_ROWS)
        parts: dict[str, pa.Table] = {}
        for argument in self.distinct_arguments:
            weighed = rows.filter(pl.col(argument).is_not_null()).group_by(
                HASH, self.value_hash(argument), *self.value_columns(argument)
            )
            parts[argument] = weighed.agg(weight).to_arrow()
        sums = [weight]
        for call in self.calls:
            if call.function is Function.COUNT_STAR or call.distinct:
                continue
            value = pl.col(str(call.argument))
            present = value.count() if sign is None else sign.filter(value.is_not_null()).sum()
            sums.append(present.cast(pl.Int64).alias(call.count))
            if call.function is Function.SUM:
                signed = value if sign is None else pl.when(sign > 0).then(value).otherwise(-value)
                sums.append(signed.sum().alias(call.sum))
        parts[GROUPS] = rows.group_by(HASH, *self.keys).agg(sums).to_arrow()
        return parts

    def open(self, open_table: OpenTable) -> AggregateKernel:
        return AggregateKernel(self, open_table)


class AggregateKernel:
    """One bucket's groups. `open_table(name, keys, values)` gives the state table of that name."""

    def __init__(self, spec: AggregateOperator, open_table: OpenTable) -> None:
        self._spec = spec
        self._groups = open_table(GROUPS, spec.key_fields(), spec.accumulators())
        self._distinct = {
            argument: open_table(
                f"distinct-{number}",
                tuple(spec.schema.field(name) for name in spec.value_columns(argument)),
                (pa.field(_ROWS, pa.int64()),),
            )
            for number, argument in enumerate(spec.distinct_arguments)
        }

    def step(self, parts: Mapping[str, pa.Table]) -> pa.Table:
        """Takes what `combine` gave for any number of batches; gives the groups that changed."""
        delta = _totals(parts[GROUPS], [HASH, *self._spec.keys])
        for argument, table in self._distinct.items():
            if argument in parts:
                delta = delta.join(
                    self._distinct_delta(argument, table, parts[argument]),
                    on=[HASH, *self._spec.keys],
                    how="left",
                    nulls_equal=True,
                )
        names = [field.name for field in self._spec.accumulators()]
        missing = [pl.lit(None, dtype=pl.Int64).alias(name) for name in names if name not in delta.columns]
        delta = delta.with_columns(missing)
        return self._apply(delta, names)

    def _distinct_delta(self, argument: str, table: StateTable, part: pa.Table) -> pl.DataFrame:
        value_hash = self._spec.value_hash(argument)
        weights = _totals(part, [HASH, value_hash, *self._spec.value_columns(argument)])
        asked = weights.rename({HASH: "__group", value_hash: HASH}).to_arrow()
        found = table.lookup(asked)
        before = np.where(found.mask, _int64(found.values.column(_ROWS)), 0)
        after = np.maximum(before + weights[_ROWS].to_numpy(), 0)
        table.put(_with(asked.drop(["__group", _ROWS]), {_ROWS: after, DEAD: after == 0}))
        step = (after > 0).astype(np.int64) - (before > 0).astype(np.int64)
        sums = []
        for call in self._spec.calls:
            if call.distinct and call.argument == argument:
                sums.append(pl.col("__step").sum().alias(call.count))
                if call.function is Function.SUM:
                    value = pl.col(argument)
                    signed = pl.when(pl.col("__step") > 0).then(value).when(pl.col("__step") < 0).then(-value)
                    sums.append(signed.sum().alias(call.sum))
        return weights.with_columns(pl.Series("__step", step)).group_by(HASH, *self._spec.keys).agg(sums)

    def _apply(self, delta: pl.DataFrame, names: list[str]) -> pa.Table:
        asked = delta.select(HASH, *self._spec.keys).to_arrow()
        found = self._groups.lookup(asked)
        old = pl.DataFrame(found.values).rename({name: _OLD + name for name in names})
        state = pl.concat([delta, old], how="horizontal").with_columns(
            [(pl.col(name).fill_null(0) + pl.col(_OLD + name).fill_null(0)).alias(name) for name in names]
        )
        # A retraction for a group that is not there is ignored: it never was counted.
        known = pl.Series(found.mask) | (state[_ROWS] > 0)
        gone = state[_ROWS] <= 0
        written = _with(state.select(HASH, *self._spec.keys, *names).filter(known).to_arrow(), {
            DEAD: gone.filter(known).to_numpy()
        })  # fmt: skip
        self._groups.put(written)
        return self._changes(state, pl.Series(found.mask), gone)

    def _changes(self, state: pl.DataFrame, existed: pl.Series, gone: pl.Series) -> pa.Table:
        new = [_result(call, "").alias(call.output) for call in self._spec.calls]
        before = [_result(call, _OLD).alias(_OLD + call.output) for call in self._spec.calls]
        rows = state.select(
            *self._spec.keys,
            *new,
            *before,
            pl.when(gone)
            .then(RowKind.DELETE)
            .when(existed)
            .then(RowKind.UPDATE_AFTER)
            .otherwise(RowKind.INSERT)
            .cast(pl.Int8)
            .alias(KIND),
        )
        differs = pl.lit(value=False)
        for call in self._spec.calls:
            differs = differs | pl.col(call.output).ne_missing(pl.col(_OLD + call.output))
        changed = pl.when(gone).then(existed).otherwise(~existed | differs)
        wanted = self._spec.output_schema
        return rows.filter(changed).select(wanted.names).to_arrow().cast(wanted)


def _result(call: Call, prefix: str) -> pl.Expr:
    match call.function:
        case Function.COUNT_STAR:
            return pl.col(prefix + _ROWS)
        case Function.COUNT:
            return pl.col(prefix + call.count)
        case Function.SUM:
            return pl.when(pl.col(prefix + call.count) > 0).then(pl.col(prefix + call.sum))


def _totals(part: pa.Table, by: list[str]) -> pl.DataFrame:
    return pl.DataFrame(part).group_by(by).agg(pl.exclude(by).sum())


def _int64(column: pa.ChunkedArray) -> NDArray[np.int64]:
    filled: NDArray[np.int64] = column.fill_null(0).to_numpy()
    return filled


def _with(table: pa.Table, columns: dict[str, NDArray[np.generic]]) -> pa.Table:
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return table
