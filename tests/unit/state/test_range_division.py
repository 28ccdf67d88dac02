"""Ranges of hashes in parts: nothing is left out, nothing is there twice, and no part is larger than need be."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from millstream.state.memory import MemoryPieces
from millstream.state.range_division import Run, divide_ranges
from millstream.state.state_table import StateTable
from tests.unit.kernels.stored_rows import KEY, VALUE, rows_to_put, scan

if TYPE_CHECKING:
    from numpy.typing import NDArray

ENDS = [-(2**63), -40, -3, 0, 7, 2**63 - 1]
places = st.integers(-50, 50) | st.sampled_from(ENDS)


def count(run: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> int:
    return sum(int(((run >= first) & (run <= last)).sum()) for first, last in zip(low, high, strict=True))


@given(
    drawn=st.lists(st.lists(places, max_size=60), max_size=4),
    ends=st.sets(places, min_size=2, max_size=12),
    most=st.integers(1, 40),
)
def test_parts_of_ranges_are_the_ranges(drawn: list[list[int]], ends: set[int], most: int) -> None:
    runs = [np.sort(np.array(run, np.int64)) for run in drawn if run]
    ordered = sorted(ends)[: len(ends) // 2 * 2]
    low, high = np.array(ordered[::2]), np.array(ordered[1::2])
    parts = list(divide_ranges([Run(run, 10.0) for run in runs], low, high, 10 * most))
    assert all(before[1][-1] < after[0][0] for before, after in pairwise(parts))
    for run in runs:
        assert sum(count(run, *part) for part in parts) == count(run, low, high)
    for low, high in parts:
        hashes = {int(found) for run in runs for found in run[(run >= low[0]) & (run <= high[-1])]}
        assert sum(count(run, low, high) for run in runs) <= most or len(hashes) == 1


def test_many_rows_of_equally_large_segments_are_in_even_parts() -> None:
    """Their pieces begin at the same hashes, and end at the same."""
    random = np.random.default_rng(7)
    runs = [Run(np.sort(random.integers(0, 2**32, 10_000)), 1.0) for _ in range(8)]
    parts = list(divide_ranges(runs, np.array([0]), np.array([2**32]), 16_000))
    assert len(parts) == 8
    assert max(sum(count(run.hashes, *part) for run in runs) for part in parts) <= 16_000


def test_snapshot_is_the_table_before_it_is_written() -> None:
    store = MemoryPieces()
    table = StateTable(KEY, VALUE, store, piece_bytes=300)
    table.put(rows_to_put({key: key for key in range(50)}, colliding=False))
    before = table.snapshot()
    table.put(rows_to_put(dict.fromkeys(range(20, 70), None), colliding=False))
    assert scan(before) == {key: key for key in range(50)}
    assert scan(table) == {key: key for key in range(20)}
    assert scan(StateTable(KEY, VALUE, store)) == {key: key for key in range(20)}
