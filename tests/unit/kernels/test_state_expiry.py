"""State that was not written for a while is as if it were not there, and its space comes free in time."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.normalise import NormaliseOperator
from millstream.state.memory import MemoryPieces
from millstream.state.state_table import StateTable, TimeToLive
from tests.unit.kernels.bench import Bench
from tests.unit.kernels.stored_rows import KEY, VALUE, look_up, rows_to_put, scan

SCHEMA = pa.schema([("key", pa.string()), ("x", pa.int64())])
writes = st.lists(st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 99)), max_size=8), max_size=12)


@given(batches=writes, length=st.integers(1, 5), colliding=st.booleans(), piece_bytes=st.sampled_from([1, 60, 1 << 20]))
def test_rows_live_for_a_time_after_their_last_write(
    batches: list[list[tuple[int, int | None]]],
    length: int,
    piece_bytes: int,
    *,
    colliding: bool,
) -> None:
    store = MemoryPieces()
    written: dict[int, tuple[int, int | None]] = {}
    for now, batch in enumerate(batches):
        table = StateTable(KEY, VALUE, store, TimeToLive(now, length), piece_bytes=piece_bytes)
        table.put(rows_to_put(dict(batch), colliding=colliding))
        written |= {key: (now, value) for key, value in batch}
        alive = {key: value for key, (at, value) in written.items() if at > now - length and value is not None}
        assert look_up(table, range(10), colliding=colliding) == alive
        assert scan(table) == alive


@given(
    batches=st.lists(st.tuples(st.sampled_from([None, 2, 4]), st.dictionaries(st.integers(0, 9), st.integers(0, 99))))
)
def test_a_ttl_may_come_and_go_between_batches(batches: list[tuple[int | None, dict[int, int]]]) -> None:
    """Nothing is wrong or lost before its time; rows without a time begin theirs when there is a TTL again."""
    store = MemoryPieces()
    written: dict[int, tuple[int, int]] = {}
    for now, (length, batch) in enumerate(batches):
        table = StateTable(KEY, VALUE, store, None if length is None else TimeToLive(now, length))
        table.put(rows_to_put(dict(batch), colliding=False))
        written |= {key: (now, value) for key, value in batch.items()}
        found = look_up(table, range(10), colliding=False)
        assert found.items() <= {key: value for key, (_, value) in written.items()}.items()
        shortest = min((other for other, _ in batches[: now + 1] if other is not None), default=now + 1)
        assert {key for key, (at, _) in written.items() if at > now - shortest} <= found.keys()


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from([None, 100, 300]),
            st.integers(0, 60),
            st.dictionaries(st.integers(0, 15), st.none() | st.integers(0, 99), max_size=8),
        ),
        min_size=4,
        max_size=16,
    ),
)
def test_what_was_deleted_or_replaced_never_comes_back(
    steps: list[tuple[int | None, int, dict[int, int | None]]],
) -> None:
    """Over a segment with which small ones are seldom merged, and under TTLs of any length."""
    store = MemoryPieces()
    latest: dict[int, int | None] = {key: key for key in range(12)}
    now = 0
    StateTable(KEY, VALUE, store, TimeToLive(now, 100)).put(rows_to_put(latest, colliding=False))
    for length, later, batch in steps:
        now += later
        table = StateTable(KEY, VALUE, store, None if length is None else TimeToLive(now, length))
        table.put(rows_to_put(batch, colliding=False))
        latest |= batch
        there = {key: value for key, value in latest.items() if value is not None}
        assert look_up(table, range(16), colliding=False).items() <= there.items()
        assert scan(table).items() <= there.items()


Step = tuple[TimeToLive | None, dict[int, int | None]]


def _after(steps: list[Step]) -> StateTable:
    store = MemoryPieces()
    for ttl, batch in steps:
        table = StateTable(KEY, VALUE, store, ttl)
        table.put(rows_to_put(batch, colliding=False))
    return table


MANY: dict[int, int | None] = {key: key for key in range(12)}
SOME: dict[int, int | None] = {100: 0, 101: 0, 102: 0}


def test_a_ttl_that_comes_back_soon_brings_no_deleted_key_back() -> None:
    without_a_time: list[Step] = [(TimeToLive(0, 100), {100: 0}), (None, MANY)]
    steps: list[Step] = [
        *without_a_time,
        (TimeToLive(10, 100), {1: None}),
        (TimeToLive(60, 100), {}),
        (TimeToLive(111, 100), SOME),
    ]
    assert look_up(_after(steps), [1], colliding=False) == {}


@pytest.mark.parametrize("later", [None, TimeToLive(313, 1000)], ids=["none", "longer"])
def test_what_has_expired_stays_so_under_another_ttl(later: TimeToLive | None) -> None:
    steps: list[Step] = [(TimeToLive(210, 100), MANY), (TimeToLive(211, 100), {1: None}), (TimeToLive(265, 100), {})]
    table = _after([*steps, (TimeToLive(312, 100), SOME), (later, {})])
    assert look_up(table, [0, 1, 100], colliding=False) == {100: 0}


def test_rows_from_a_time_without_a_ttl_expire_after_it_came() -> None:
    store = MemoryPieces()
    StateTable(KEY, VALUE, store).put(rows_to_put({1: 2}, colliding=False))
    for now, there in ((1000, True), (1009, True), (1010, False)):
        table = StateTable(KEY, VALUE, store, TimeToLive(now, 10))
        assert bool(look_up(table, [1], colliding=False)) is there


def test_a_sweep_frees_the_space_of_keys_that_never_come_again() -> None:
    store = MemoryPieces()
    for now in range(100):
        table = StateTable(KEY, VALUE, store, TimeToLive(now, 10))
        table.put(rows_to_put({now * 100 + each: each for each in range(100)}, colliding=False))
    assert sum(segment.rows for segment in store.manifest().segments) <= 4 * 10 * 100


def test_an_expired_group_starts_anew() -> None:
    calls = (Call("n", "COUNT(*)"), Call("all", "LISTAGG", "word"))
    schema = pa.schema([("key", pa.string()), ("word", pa.string())])
    bench = Bench(AggregateOperator(("key",), calls, schema, repeats=True), schema)
    bench.ttl = TimeToLive(10, 15)
    bench.step([(RowKind.INSERT, ("A", "x")), (RowKind.INSERT, ("B", "y"))])
    bench.ttl = TimeToLive(20, 15)
    bench.step([(RowKind.INSERT, ("B", "z"))])
    bench.ttl = TimeToLive(30, 15)
    changes = bench.step([(RowKind.INSERT, ("A", "w")), (RowKind.DELETE, ("B", "z"))])
    images = {change["key"]: (RowKind(change[KIND]).symbol, change["n"], change["all"]) for change in changes}
    # B's row was written again and lives; its first value was not, and is gone.
    assert images == {"A": ("+I", 1, "w"), "B": ("+U", 1, None)}


def test_with_a_ttl_the_same_result_is_said_again() -> None:
    row = ("A", 1)
    counted = AggregateOperator(("key",), (Call("uv", "COUNT", "x", distinct=True),), SCHEMA, repeats=True)
    for operator in (counted, NormaliseOperator(("key",), SCHEMA, expires=True)):
        bench = Bench(operator, SCHEMA)
        assert [change[KIND] for change in bench.step([(RowKind.INSERT, row)])] == [RowKind.INSERT]
        assert [change[KIND] for change in bench.step([(RowKind.INSERT, row)])] == [RowKind.UPDATE_AFTER]


@given(
    batches=st.lists(
        st.tuples(st.integers(0, 30), st.dictionaries(st.integers(0, 5), st.none() | st.integers(0, 99), max_size=3))
    ),
    length=st.integers(1, 8),
)
def test_a_clock_that_is_set_back_stands_still(batches: list[tuple[int, dict[int, int | None]]], length: int) -> None:
    """What has expired stays so, and nothing expires before the clock is where it was and a TTL further on."""
    store = MemoryPieces()
    written: dict[int, tuple[int, int | None]] = {}
    latest = 0
    for now, batch in batches:
        latest = max(latest, now)
        table = StateTable(KEY, VALUE, store, TimeToLive(now, length))
        table.put(rows_to_put(batch, colliding=False))
        written |= {key: (latest, value) for key, value in batch.items()}
        alive = {key: value for key, (at, value) in written.items() if at > latest - length and value is not None}
        assert look_up(table, range(6), colliding=False) == alive


def test_what_a_lookup_did_not_find_is_not_found_when_the_clock_is_set_back() -> None:
    store = MemoryPieces()
    StateTable(KEY, VALUE, store, TimeToLive(1000, 100)).put(rows_to_put({1: 2}, colliding=False))
    for now, there in ((1099, True), (1000, True), (1100, False), (1050, False), (-(10**12), False)):
        table = StateTable(KEY, VALUE, store, TimeToLive(now, 100))
        assert bool(look_up(table, [1], colliding=False)) is there


def test_a_clock_that_was_behind_for_a_while_ends_no_row_early() -> None:
    store = MemoryPieces()
    for now, key in ((1000, 1), (400, 2), (1050, 3)):
        StateTable(KEY, VALUE, store, TimeToLive(now, 100)).put(rows_to_put({key: key}, colliding=False))
    table = StateTable(KEY, VALUE, store, TimeToLive(1099, 100))
    assert look_up(table, [1, 2, 3], colliding=False) == {1: 1, 2: 2, 3: 3}
