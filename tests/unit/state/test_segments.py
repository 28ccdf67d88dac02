"""Tables in many pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.state.memory import MemoryPieces
from millstream.state.state_table import HASH, StateTable
from tests.unit.kernels.stored_rows import KEY, VALUE, look_up, rows_to_put, scan

batches = st.lists(st.dictionaries(st.integers(0, 60), st.none() | st.integers(0, 99), max_size=40), max_size=8)


@given(
    batches=batches,
    piece_bytes=st.integers(1, 2000),
    ends=st.tuples(st.integers(-1, 61), st.integers(-1, 61)),
    colliding=st.booleans(),
)
def test_a_table_in_pieces_is_the_same_table(
    batches: list[dict[int, int | None]],
    piece_bytes: int,
    ends: tuple[int, int],
    *,
    colliding: bool,
) -> None:
    store = MemoryPieces()
    truth: dict[int, int | None] = {}
    for batch in batches:
        StateTable(KEY, VALUE, store, piece_bytes=piece_bytes).put(rows_to_put(batch, colliding=colliding))
        truth |= batch
        table = StateTable(KEY, VALUE, store, piece_bytes=piece_bytes)
        alive = {key: value for key, value in truth.items() if value is not None}
        assert look_up(table, range(61), colliding=colliding) == alive
        assert scan(table) == alive
        if not colliding:
            low, high = sorted(ends)
            some = {key: value for key, value in alive.items() if low <= key <= high}
            assert scan(table, low * 7919, high * 7919) == some


def test_no_piece_is_larger_than_wanted() -> None:
    store = MemoryPieces()
    for start in (0, 1):
        table = StateTable(KEY, VALUE, store, piece_bytes=4000)
        table.put(rows_to_put({key: key for key in range(start, 4000, 2)}, colliding=False))
    [segment] = store.manifest().segments
    assert segment.rows == 4000
    assert len(segment.pieces) >= 4000 * 25 // 4000
    assert max(store.load(piece).nbytes for piece in segment.pieces) < 4800


@given(
    batches=batches,
    floors=st.lists(st.integers(0, 61), min_size=8, max_size=8),
    piece_bytes=st.sampled_from([1, 200, 2000]),
)
def test_what_is_below_is_forgotten(batches: list[dict[int, int | None]], floors: list[int], piece_bytes: int) -> None:
    """Most rows of a piece are above."""
    store = MemoryPieces()
    truth: dict[int, int | None] = {}
    for batch, floor in zip(batches, sorted(floors), strict=False):
        table = StateTable(KEY, VALUE, store, piece_bytes=piece_bytes)
        table.put(rows_to_put(batch, colliding=False))
        truth |= batch
        table.forget_below(floor * 7919)
        stored = [store.load(piece).column(HASH).to_pylist() for piece in store.manifest().pieces]
        assert all(2 * sum(hash_ >= floor * 7919 for hash_ in piece) >= len(piece) for piece in stored)
        table = StateTable(KEY, VALUE, store, piece_bytes=piece_bytes)
        assert scan(table, floor * 7919) == {k: v for k, v in truth.items() if v is not None and k >= floor}


def test_forgetting_nothing_writes_nothing() -> None:
    store = MemoryPieces()
    table = StateTable(KEY, VALUE, store)
    table.put(rows_to_put({1: 1, 2: 2, 3: 3}, colliding=False))
    before = store.manifest()
    table.forget_below(2 * 7919)
    assert store.manifest() == before
