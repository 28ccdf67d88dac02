"""Computes the changes that lead from the rows before a batch to the rows after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl
import pyarrow as pa

from millstream.aggregates.calls import OLD
from millstream.changelog import KIND, RowKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.state.state_table import Found

EXISTED: Final = "__existed"
EXISTS: Final = "__exists"
_PLACE: Final = "__place"


def is_added(rows: pl.DataFrame) -> pl.Expr | None:
    """Whether a row is added rather than removed; None if the input is insert-only."""
    if KIND not in rows.columns:
        return None
    return pl.col(KIND).is_in([RowKind.INSERT, RowKind.UPDATE_AFTER])


def count_change(rows: pl.DataFrame) -> pl.Expr:
    """1 for a row that is added, -1 for one that is removed."""
    comes = is_added(rows)
    change = pl.lit(1) if comes is None else pl.when(comes).then(1).otherwise(-1)
    return change.cast(pl.Int64)


def add_old_values(rows: pl.DataFrame, found: Found) -> pl.DataFrame:
    """Beside each key that was looked up: whether it existed, and the values that it had, as `__old…`."""
    old = found.values.rename_columns([OLD + name for name in found.values.column_names])
    return pl.concat([rows, pl.DataFrame(old), pl.DataFrame({EXISTED: found.mask})], how="horizontal")


def values_differ(values: Sequence[str]) -> pl.Expr:
    """Whether the values of a row have changed."""
    differs = pl.lit(value=False)
    for name in values:
        differs |= pl.col(name).ne_missing(pl.col(OLD + name))
    return differs


def changelog(
    images: pl.LazyFrame,
    keys: Sequence[str],
    schema: pa.Schema,
    *,
    emits_before: bool,
    emits_unchanged: bool = False,
) -> pa.Table:
    """`images` has, per key, its values before (`__old…`) and after, and whether it existed and exists.

    A new key gives +I, a changed one +U (preceded by -U if requested), and a removed one -D with its last row.
    """
    values = [name for name in schema.names if name not in (*keys, KIND)]
    existed, exists = pl.col(EXISTED), pl.col(EXISTS)
    differs = values_differ(values) | emits_unchanged
    changed = images.filter(pl.when(existed & exists).then(differs).otherwise(existed | exists)).with_row_index(_PLACE)
    new = [pl.when(exists).then(pl.col(name)).otherwise(pl.col(OLD + name)).alias(name) for name in values]
    kind = pl.when(~exists).then(RowKind.DELETE).when(existed).then(RowKind.UPDATE_AFTER).otherwise(RowKind.INSERT)
    rows = changed.select(_PLACE, *keys, *new, kind.cast(pl.Int8).alias(KIND))
    if emits_before:
        old = [pl.col(OLD + name).alias(name) for name in values]
        before = changed.filter(existed & exists).select(
            _PLACE, *keys, *old, pl.lit(RowKind.UPDATE_BEFORE, dtype=pl.Int8).alias(KIND)
        )
        rows = pl.concat([before, rows]).sort(_PLACE, maintain_order=True)
    return to_arrow(rows.collect(), schema)


def to_arrow(rows: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    table = rows[schema.names].to_arrow()
    return pa.table([_cast(table.column(field.name), field.type) for field in schema], schema=schema)


def _cast(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """Arrow cannot cast a list of pairs to a map."""
    if not pa.types.is_map(type_) or pa.types.is_map(column.type):
        return column.cast(type_)
    chunks = [chunk.cast(pa.list_(chunk.type.value_type)) for chunk in column.chunks]
    return pa.chunked_array([_map_of(chunk, type_) for chunk in chunks], type_)


def _map_of(pairs: pa.ListArray, type_: pa.MapType) -> pa.MapArray:
    entries = pairs.values
    return pa.MapArray.from_arrays(
        pairs.offsets, entries.field("key").cast(type_.key_type), entries.field("value").cast(type_.item_type)
    )
