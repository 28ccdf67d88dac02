"""Searches a segment, which is sorted by hash, by key or by a range of hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from millstream.state.segment_pieces import Range

HASH: Final = "__hash"
_MOST_RUNS: Final = 64
"""Runs that are merged faster than all of their rows are sorted."""


def matching_rows(
    stored: pa.Table, probe: pa.Table, probe_rows: NDArray[np.int64], keys: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of (probe row, stored row) with equal keys; different keys may have the same hash."""
    stored_hashes = as_numpy(stored.column(HASH))
    hashes = as_numpy(probe.column(HASH)).take(probe_rows)
    candidates = np.searchsorted(stored_hashes, hashes)
    rows_out: list[NDArray[np.int64]] = []
    stored_out: list[NDArray[np.int64]] = []
    open_rows = np.arange(len(hashes))
    while len(open_rows):
        at = candidates[open_rows]
        inside = at < len(stored_hashes)
        open_rows, at = open_rows[inside], at[inside]
        same_hash = stored_hashes[at] == hashes[open_rows]
        open_rows, at = open_rows[same_hash], at[same_hash]
        if not len(open_rows):
            break
        equal = keys_equal(stored, at, probe, probe_rows[open_rows], keys)
        rows_out.append(probe_rows[open_rows[equal]])
        stored_out.append(at[equal])
        open_rows = open_rows[~equal]
        candidates[open_rows] += 1
    return concatenate(rows_out), concatenate(stored_out)


def rows_in_ranges(stored: pa.Table, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows whose hash is in one of the ranges, ends included; the ranges do not overlap."""
    hashes = as_numpy(stored.column(HASH))
    starts = np.searchsorted(hashes, low, side="left")
    lengths = np.searchsorted(hashes, high, side="right") - starts
    first_of_range = np.cumsum(lengths) - lengths
    rows: NDArray[np.int64] = np.repeat(starts - first_of_range, lengths) + np.arange(lengths.sum())
    return rows


def rows_between(stored: pa.Table, wanted: Range) -> pa.Table:
    """The rows whose hash is in a range, without copying them."""
    start, end = wanted
    hashes = as_numpy(stored.column(HASH))
    begin = 0 if start is None else int(np.searchsorted(hashes, start))
    return stored.slice(begin, None if end is None else int(np.searchsorted(hashes, end)) - begin)


def sort_order(hashes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows in order of their hash. Rows often come in order already, or as a few runs that are."""
    descents = int(np.count_nonzero(hashes[1:] < hashes[:-1]))
    if descents == 0:
        return np.arange(len(hashes))
    return np.argsort(hashes, kind="stable" if descents < _MOST_RUNS else None)


def is_sorted(hashes: NDArray[np.int64]) -> bool:
    return not bool((hashes[1:] < hashes[:-1]).any())


def keys_equal(
    left: pa.Table,
    left_rows: NDArray[np.int64],
    right: pa.Table,
    right_rows: NDArray[np.int64],
    keys: Sequence[str],
) -> NDArray[np.bool_]:
    equal = np.ones(len(left_rows), dtype=bool)
    for name in keys:
        a = left.column(name).take(pa.array(left_rows))
        b = right.column(name).take(pa.array(right_rows))
        equal &= _same_values(a, b)
    return equal


def _same_values(left: pa.ChunkedArray, right: pa.ChunkedArray) -> NDArray[np.bool_]:
    """NULL equals NULL, and NaN equals NaN."""
    if pa.types.is_nested(left.type):  # Arrow cannot compare nested values
        import polars as pl  # starts threads, and this module is loaded before workers are forked

        nested: NDArray[np.bool_] = pl.Series(left).eq_missing(pl.Series(right)).to_numpy()
        return nested
    same = pc.or_(pc.fill_null(pc.equal(left, right), fill_value=False), pc.and_(left.is_null(), right.is_null()))
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.fill_null(pc.and_(pc.is_nan(left), pc.is_nan(right)), fill_value=False))
    return as_numpy(same)


def as_numpy(column: pa.ChunkedArray) -> NDArray[Any]:
    array: NDArray[Any] = column.to_numpy()
    return array


def concatenate(parts: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
