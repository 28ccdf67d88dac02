"""Tables whose rows add up, and what becomes of them when they are opened as tables of the other kind."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.state.manifest import BucketManifest
from millstream.state.memory import MemoryPieces
from millstream.state.state_table import StateTable, TimeToLive
from tests.unit.kernels.stored_rows import KEY, VALUE, look_up, rows_to_put
from tests.unit.tiny_segments import tiny_segments

ALL = np.array([np.iinfo(np.int64).min]), np.array([np.iinfo(np.int64).max])
SUMMED = "value"
keys = st.lists(st.integers(0, 12), max_size=12)


def rows_of(found: list[int], *, colliding: bool) -> pa.Table:
    """One of each key, which may come several times."""
    once = rows_to_put(dict.fromkeys(range(13), 1), colliding=colliding)
    return once.take(pa.array(found, pa.int64()))


def sums(tables: list[pa.Table]) -> Counter[int]:
    found: Counter[int] = Counter()
    for rows in tables:
        for key, value in zip(rows.column("key").to_pylist(), rows.column("value").to_pylist(), strict=True):
            found[key] += value
    return found


def in_ranges(table: StateTable) -> list[pa.Table]:
    return [rows.slice(begin[0], end[0] - begin[0]) for rows, begin, end in table.ranges(*ALL)]


@given(
    batches=st.lists(keys, max_size=9), piece_bytes=st.integers(1, 500), turn=st.integers(0, 9), colliding=st.booleans()
)
def test_rows_of_a_key_add_up_until_the_table_is_opened_as_another(
    batches: list[list[int]], piece_bytes: int, turn: int, *, colliding: bool
) -> None:
    store = MemoryPieces()
    truth: Counter[int] = Counter()
    with tiny_segments():
        for number, batch in enumerate(batches):
            if number < turn:
                table = StateTable(KEY, VALUE, store, summed=SUMMED, piece_bytes=piece_bytes)
                table.put(rows_of(batch, colliding=colliding))
                truth.update(batch)
                assert sums(in_ranges(table)) == sums([table.scan(*ALL)]) == truth
                continue
            table = StateTable(KEY, VALUE, store, piece_bytes=piece_bytes)
            truth.update(batch)
            table.put(rows_to_put({key: truth[key] for key in batch}, colliding=colliding))
            assert Counter(look_up(table, range(13), colliding=colliding)) == truth
        again = StateTable(KEY, VALUE, store, summed=SUMMED, piece_bytes=piece_bytes)
        assert sums(in_ranges(again)) == truth


def test_what_was_deleted_before_does_not_add_up() -> None:
    store = MemoryPieces()
    StateTable(KEY, VALUE, store).put(rows_to_put({1: 5, 2: 7}, colliding=False))
    StateTable(KEY, VALUE, store).put(rows_to_put({1: None, 2: 9}, colliding=False))
    with tiny_segments():
        table = StateTable(KEY, VALUE, store, summed=SUMMED)
    assert sums([table.scan(*ALL)]) == {2: 9}
    assert store.manifest().summed == SUMMED


def test_with_a_ttl_each_row_has_its_time() -> None:
    store = MemoryPieces()
    with tiny_segments():
        for now in range(6):
            table = StateTable(KEY, VALUE, store, TimeToLive(now, 4), summed=SUMMED)
            table.put(rows_of([1], colliding=False))
            assert sums([table.scan(*ALL)]) == sums(in_ranges(table)) == {1: min(now + 1, 4)}
        assert sums([StateTable(KEY, VALUE, store, summed=SUMMED).scan(*ALL)]) == {1: 4}
        assert look_up(StateTable(KEY, VALUE, store), [1], colliding=False) == {1: 4}


@pytest.mark.parametrize("summed", [None, SUMMED])
def test_a_manifest_says_what_adds_up(summed: str | None) -> None:
    store = MemoryPieces()
    StateTable(KEY, VALUE, store, summed=summed).put(rows_of([1], colliding=False))
    data = BucketManifest({"rows": store.manifest()}).to_bytes()
    assert BucketManifest.from_bytes(data).tables["rows"].summed == summed
    assert (b'"layout": 3' in data) is (summed is not None)
