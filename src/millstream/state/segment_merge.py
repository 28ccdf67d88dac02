"""Merges sorted rows of several segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from millstream.state.segment_search import HASH, as_numpy, keys_equal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def merge_runs(runs: Sequence[pa.Table], keys: Sequence[str]) -> pa.Table:
    """Each key once, in order of hashes. Each run is sorted and has a key once; the first run that has a key wins."""
    runs = [run for run in runs if run.num_rows] or runs[:1]
    if len(runs) == 1:
        return runs[0]
    rows, order, hashes = _in_order(runs)
    leaders = _leaders(rows, hashes, order, keys)
    return rows.take(pa.array(order[leaders == np.arange(len(leaders))])).combine_chunks()


def sum_runs(runs: Sequence[pa.Table], keys: Sequence[str], summed: str) -> pa.Table:
    """Each key once, in order of hashes, with the first of its rows, in which a column has the sum of all of them."""
    rows, order, hashes = _in_order(runs)
    leaders = _leaders(rows, hashes, order, keys)
    is_first = leaders == np.arange(len(leaders))
    while not np.array_equal(further := leaders[leaders], leaders):
        leaders = further
    taken = rows.take(pa.array(order[is_first])).combine_chunks()
    if is_first.all():
        return taken
    sums = np.zeros(len(leaders), dtype=np.int64)
    np.add.at(sums, leaders, as_numpy(rows.column(summed)).take(order))
    place = taken.schema.get_field_index(summed)
    return taken.set_column(place, taken.schema.field(place), pa.array(sums[is_first]))


def place_runs(runs: Sequence[pa.Table]) -> pa.Table:
    """All rows, in order of hashes."""
    rows, order, _ = _in_order(runs)
    return rows.take(pa.array(order)).combine_chunks()


def _in_order(runs: Sequence[pa.Table]) -> tuple[pa.Table, NDArray[np.int64], NDArray[np.int64]]:
    rows = pa.concat_tables(runs).combine_chunks()
    hashes = as_numpy(rows.column(HASH))
    order = np.argsort(hashes, kind="stable")  # merges runs, and leaves equal hashes in the order of the runs
    return rows, order, hashes.take(order)


def _leaders(
    rows: pa.Table, hashes: NDArray[np.int64], order: NDArray[np.int64], keys: Sequence[str]
) -> NDArray[np.int64]:
    """The nearest row before it with the same key, for each row in order; itself if there is none."""
    leaders = np.arange(len(hashes))
    distance = 1
    pending = np.flatnonzero(hashes[1:] == hashes[:-1]) + 1
    while len(pending):
        equal = keys_equal(rows, order[pending], rows, order[pending - distance], keys)
        leaders[pending[equal]] -= distance
        distance += 1
        pending = pending[~equal & (pending >= distance)]
        pending = pending[hashes[pending] == hashes[pending - distance]]
    return leaders
