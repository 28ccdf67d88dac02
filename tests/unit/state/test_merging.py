"""Segments, pieces and filters of larger tables: what is merged when, and that nothing is lost by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.state.hash_filter import HashFilter
from millstream.state.manifest import Piece, Segment
from millstream.state.memory import MemoryPieces
from millstream.state.merge_policy import count_to_merge
from millstream.state.segment_merge import merge_runs
from millstream.state.segment_search import HASH, sort_order
from millstream.state.state_table import DEAD, StateTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEY = (pa.field("key", pa.int64()),)
VALUE = (pa.field("value", pa.int64()),)
BATCH = 5000
"""More than the few rows that are always merged."""


def to_rows(keys: NDArray[np.int64], values: NDArray[np.int64], dead: NDArray[np.bool_]) -> pa.Table:
    """Three keys have the same hash."""
    return pa.table({HASH: keys // 3 * 7919, "key": keys, "value": values, DEAD: dead})


@pytest.mark.parametrize("keys", [6000, 20_000, 400_000], ids=["updates", "both", "inserts"])
@pytest.mark.parametrize("piece_bytes", [30_000, 16 << 20], ids=["many pieces", "one piece"])
def test_a_table_of_many_segments_is_the_same_table(keys: int, piece_bytes: int) -> None:
    random = np.random.default_rng(keys)
    store = MemoryPieces()
    truth = np.full(keys, -1)
    most_segments = 0
    for _ in range(30):
        table = StateTable(KEY, VALUE, store, piece_bytes=piece_bytes)
        batch = random.permutation(keys)[:BATCH]
        found = table.lookup(to_rows(batch, batch, np.zeros(BATCH, bool)))
        assert np.array_equal(found.mask, truth[batch] >= 0)
        known = found.values.column("value").filter(pa.array(found.mask)).to_numpy()
        assert np.array_equal(known, truth[batch][found.mask])
        values, dead = random.integers(0, 1000, BATCH), random.random(BATCH) < 0.2
        table.put(to_rows(batch, values, dead), replaced=int(found.mask.sum()))
        truth[batch] = np.where(dead, -1, values)
        most_segments = max(most_segments, len(store.manifest().segments))
    scanned = StateTable(KEY, VALUE, store, piece_bytes=piece_bytes).scan(np.array([0]), np.array([keys * 7919]))
    order = np.argsort(scanned.column("key").to_numpy())
    assert np.array_equal(scanned.column("key").to_numpy()[order], np.flatnonzero(truth >= 0))
    assert np.array_equal(scanned.column("value").to_numpy()[order], truth[truth >= 0])
    assert most_segments > 1
    stored = sum(segment.rows for segment in store.manifest().segments)
    assert stored <= 2.5 * len(order) + 2 * BATCH


@given(
    hashes=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40),
    rows=st.integers(1024, 5000),
    upper=st.sampled_from([0, 0x7F3A0000_00000000]),
)
def test_a_filter_never_denies_a_hash_it_has(hashes: list[int], rows: int, upper: int) -> None:
    others = np.random.default_rng(rows).integers(0, 2**32, rows) | upper
    held = np.concatenate([others, np.array(hashes, np.int64)])
    hash_filter = HashFilter.build(held)
    assert hash_filter is not None
    assert hash_filter.may_have(held).all()
    absent = np.random.default_rng(rows + 1).integers(2**32, 2**40, 5000) | upper
    assert hash_filter.may_have(absent).mean() < 0.2


def test_few_rows_need_no_filter() -> None:
    assert HashFilter.build(np.arange(1023)) is None


@given(
    runs=st.lists(st.dictionaries(st.integers(0, 12), st.integers(0, 99), max_size=10), min_size=1, max_size=6),
    colliding=st.sampled_from([1, 3, 100]),
)
def test_the_first_run_that_has_a_key_wins(runs: list[dict[int, int]], colliding: int) -> None:
    tables = []
    for run in runs:
        keys = sorted(run)
        hashes = pa.array([key // colliding for key in keys], pa.int64())
        columns = {HASH: hashes, "key": pa.array(keys, pa.int64()), "value": pa.array([run[key] for key in keys])}
        tables.append(pa.table(columns).cast(pa.schema([(name, pa.int64()) for name in columns])))
    merged = merge_runs(tables, ["key"])
    truth = {key: value for run in reversed(runs) for key, value in run.items()}
    found = zip(merged.column("key").to_pylist(), merged.column("value").to_pylist(), strict=True)
    assert dict(found) == truth
    assert merged.num_rows == len(truth)
    assert merged.column(HASH).to_pylist() == sorted(key // colliding for key in truth)


@given(st.lists(st.integers(-5, 5), max_size=200))
def test_an_order_sorts(hashes: list[int]) -> None:
    array = np.array(hashes, np.int64)
    assert array[sort_order(array)].tolist() == sorted(hashes)


def segment_of(rows: int, replaced: int = 0, checksum: int = 0) -> Segment:
    return Segment((Piece("file", 0, rows, checksum, rows, 0, 1),), replaced)


def grow(batches: int, size: int, checksum: int) -> tuple[int, int]:
    """Adds new rows, a segment each time: how many rows were written in all, and the most segments there were."""
    segments: list[Segment] = []
    written = most = 0
    for _ in range(batches):
        kept = len(segments) - count_to_merge(segments, size, 0)
        rows = size + sum(segment.rows for segment in segments[kept:])
        written += rows
        segments = [*segments[:kept], segment_of(rows, checksum=checksum)]
        most = max(most, len(segments))
    assert sum(segment.rows for segment in segments) == batches * size
    return written, most


@pytest.mark.parametrize("checksum", range(4))
def test_a_row_is_rewritten_once_per_eightfold_growth(checksum: int) -> None:
    written, most = grow(512, 100_000, checksum)
    assert written <= 512 * 100_000 * 5
    assert most <= 3 * 9


def test_small_writes_leave_few_segments() -> None:
    _, most = grow(5000, 10, 0)
    assert most <= 9


def test_rows_out_of_date_are_merged_away() -> None:
    segments = [segment_of(1_000_000), *(segment_of(100_000, 100_000) for _ in range(4))]
    assert count_to_merge(segments, 100_000, 100_000) == 0
    many = [segment_of(1_000_000), *(segment_of(200_000, 200_000) for _ in range(5))]
    assert count_to_merge(many, 100_000, 100_000) == 6
