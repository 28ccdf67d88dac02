"""Tables in many pieces, on a cache that forgets."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from millstream.kernels.segment_cache import SegmentCache
from millstream.kernels.segment_log import MemorySegmentLog
from millstream.kernels.state_table import StateTable
from tests.unit.kernels.stored_rows import KEY, VALUE, look_up, rows_to_put, scan

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

batches = st.lists(st.dictionaries(st.integers(0, 60), st.none() | st.integers(0, 99), max_size=40), max_size=8)


@given(
    batches=batches,
    piece_bytes=st.integers(1, 2000),
    ends=st.tuples(st.integers(-1, 61), st.integers(-1, 61)),
    limit=st.sampled_from([None, 0, 1000]),
    colliding=st.booleans(),
)
def test_a_table_in_pieces_is_the_same_table(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[dict[int, int | None]],
    piece_bytes: int,
    ends: tuple[int, int],
    limit: int | None,
    *,
    colliding: bool,
) -> None:
    cache, log = SegmentCache(tmp_path_factory.mktemp("segments"), limit), MemorySegmentLog()
    truth: dict[int, int | None] = {}
    for batch in batches:
        StateTable(KEY, VALUE, log, cache, piece_bytes=piece_bytes).put(rows_to_put(batch, colliding=colliding))
        cache.trim()
        truth |= batch
        table = StateTable(KEY, VALUE, log, cache, piece_bytes=piece_bytes)
        alive = {key: value for key, value in truth.items() if value is not None}
        assert look_up(table, range(61), colliding=colliding) == alive
        assert scan(table) == alive
        if not colliding:
            low, high = sorted(ends)
            some = {key: value for key, value in alive.items() if low <= key <= high}
            assert scan(table, low * 7919, high * 7919) == some


def test_no_piece_is_larger_than_wanted(tmp_path: Path) -> None:
    log = MemorySegmentLog()
    for start in (0, 1):
        table = StateTable(KEY, VALUE, log, SegmentCache(tmp_path), piece_bytes=10_000)
        table.put(rows_to_put({key: key for key in range(start, 9000, 2)}, colliding=False))
    [segment] = log.manifest().segments
    assert segment.rows == 9000
    assert len(segment.pieces) >= 9000 * 25 // 10_000
    assert max(len(log.read(piece.id)) for piece in segment.pieces) < 12_000


def test_a_trimmed_cache_drops_what_was_not_used_for_longest(tmp_path: Path) -> None:
    cache = SegmentCache(tmp_path, limit=3000)
    tables = [StateTable(KEY, VALUE, MemorySegmentLog(), cache) for _ in range(2)]
    tables[0].put(rows_to_put({1: 1}, colliding=False))
    [orphan] = tmp_path.iterdir()
    tables[1].put(rows_to_put({1: 1}, colliding=False))
    [used] = {*tmp_path.iterdir()} - {orphan}
    half, abandoned, large = (tmp_path / name for name in ("half.written", "abandoned.half", "large"))
    for file in (half, abandoned, large):
        file.write_bytes(bytes(1500))
    os.utime(abandoned, (0, time.time() - 3600))
    os.utime(orphan, (0, time.time() - 50))
    os.utime(used, (0, time.time() - 60))
    assert look_up(tables[1], [1], colliding=False) == {1: 1}
    cache.trim()
    assert {file for file in (orphan, used, half, abandoned, large) if file.exists()} <= {used, half, large}
    assert half.exists()
    assert look_up(tables[0], [1], colliding=False) == {1: 1}
