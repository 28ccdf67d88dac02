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
    rows = pa.concat_tables(runs).combine_chunks()
    hashes = as_numpy(rows.column(HASH))
    order = np.argsort(hashes, kind="stable")  # merges runs, and leaves equal hashes in the order of the runs
    return rows.take(pa.array(order[_is_first(rows, hashes.take(order), order, keys)])).combine_chunks()


def _is_first(
    rows: pa.Table, hashes: NDArray[np.int64], order: NDArray[np.int64], keys: Sequence[str]
) -> NDArray[np.bool_]:
    """Whether no row before it has the same key, for each row in order."""
    first = np.ones(len(hashes), dtype=bool)
    distance = 1
    pending = np.flatnonzero(hashes[1:] == hashes[:-1]) + 1
    while len(pending):
        equal = keys_equal(rows, order[pending], rows, order[pending - distance], keys)
        first[pending[equal]] = False
        distance += 1
        pending = pending[~equal & (pending >= distance)]
        pending = pending[hashes[pending] == hashes[pending - distance]]
    return first
