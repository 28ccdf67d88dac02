"""Tables in many pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.state.memory import MemoryPieces
from millstream.state.state_table import StateTable
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
