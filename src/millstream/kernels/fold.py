"""Removes changes that the next change of the same key makes redundant from a stream of Arrow batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from millstream.changelog import KIND, RowKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PLACE: Final = "__place"


def fold_updates(rows: Iterator[pa.RecordBatch], key_columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Drops each -U that is followed by the +U of its key; any other -U retracts its row.

    The result does not depend on batch boundaries: a -U at the end of a batch waits for the first row of the next.
    """
    held: pa.RecordBatch | None = None
    for batch in rows:
        if not batch.num_rows:
            yield batch  # skipping it would let this reader run ahead of others of the same rows
            continue
        joined = batch if held is None else _concatenate([held, batch])
        last = joined.num_rows - 1
        held = joined.slice(last) if joined.column(KIND)[last].as_py() == RowKind.UPDATE_BEFORE else None
        settled = joined if held is None else joined.slice(0, last)
        yield settled.filter(pc.invert(_find_replaced(joined, key_columns).slice(0, settled.num_rows)))
    if held is not None:
        yield held


def last_changes(rows: Iterator[pa.RecordBatch], key_columns: Sequence[str], max_keys: int) -> Iterator[pa.RecordBatch]:
    """Collects rows until there are `max_keys` keys or no more rows, and returns the last row of each key."""
    gathered: list[pa.RecordBatch] = []
    for batch in rows:
        gathered += [batch] if batch.num_rows else []
        if sum(each.num_rows for each in gathered) >= max_keys:
            latest = _last_of_each(_concatenate(gathered), key_columns)
            gathered = [latest]
            if latest.num_rows >= max_keys:
                yield latest
                gathered = []
    if gathered:
        yield _last_of_each(_concatenate(gathered), key_columns)


def _find_replaced(batch: pa.RecordBatch, key_columns: Sequence[str]) -> pa.Array:
    """For each row, whether it is a -U and the next one is the +U of the same key."""
    rows = batch.num_rows - 1
    here, following = batch.slice(0, rows), batch.slice(1)
    found = pc.and_(
        pc.equal(here.column(KIND), RowKind.UPDATE_BEFORE), pc.equal(following.column(KIND), RowKind.UPDATE_AFTER)
    )
    for name in key_columns:
        found = pc.and_(found, _same(here.column(name), following.column(name)))
    return pa.concat_arrays([found, pa.array([False])])


def _same(left: pa.Array, right: pa.Array) -> pa.Array:
    both_null = pc.and_(left.is_null(), right.is_null())
    return pc.or_(both_null, pc.fill_null(pc.equal(left, right), fill_value=False))


def _last_of_each(batch: pa.RecordBatch, key_columns: Sequence[str]) -> pa.RecordBatch:
    keys = pa.Table.from_batches([batch.select(list(key_columns))])
    places = keys.append_column(_PLACE, pa.array(range(batch.num_rows), pa.int64()))
    last = places.group_by(list(key_columns)).aggregate([(_PLACE, "max")])[f"{_PLACE}_max"]
    return batch.take(last.combine_chunks().sort())


def _concatenate(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    [whole] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole
