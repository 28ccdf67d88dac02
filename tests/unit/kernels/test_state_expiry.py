"""State that was not written for a while can be forgotten; without a clock, nothing is kept for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.kernels.aggregate import AggregateOperator, Call, Function
from millstream.kernels.normalise import NormaliseOperator
from millstream.kernels.segment_log import MemorySegmentLog, SegmentCache
from millstream.kernels.state_table import DEAD, HASH, StateTable
from tests.unit.kernels.bench import Bench

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SCHEMA = pa.schema([("key", pa.string()), ("x", pa.int64())])
KEY = (pa.field("key", pa.int64()),)
VALUE = (pa.field("value", pa.int64()),)

writes = st.lists(st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 99)), max_size=8), max_size=10)


def rows(written: dict[int, int | None], *, colliding: bool) -> pa.Table:
    keys = list(written)
    return pa.table(
        {
            HASH: pa.array([key % 2 if colliding else key * 7919 for key in keys], pa.int64()),
            "key": pa.array(keys, pa.int64()),
            "value": pa.array(written.values(), pa.int64()),
            DEAD: pa.array([value is None for value in written.values()]),
        }
    )


@settings(max_examples=300, deadline=None, print_blob=True)
@given(batches=writes, lifetime=st.integers(1, 5), colliding=st.booleans())
def test_rows_live_for_a_time_after_their_last_write(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[list[tuple[int, int | None]]],
    lifetime: int,
    *,
    colliding: bool,
) -> None:
    cache, log = SegmentCache(tmp_path_factory.mktemp("segments")), MemorySegmentLog()
    written: dict[int, tuple[int, int | None]] = {}
    for now, batch in enumerate(batches):
        table = StateTable(KEY, VALUE, log, cache, now)
        table.expire(now - lifetime)
        table.put(rows(dict(batch), colliding=colliding))
        written |= {key: (now, value) for key, value in batch}
        alive = {key: value for key, (at, value) in written.items() if at >= now - lifetime and value is not None}
        found = table.lookup(rows(dict.fromkeys(range(10)), colliding=colliding))
        assert {key: found.values["value"][key].as_py() for key in range(10) if found.mask[key]} == alive


def test_without_a_clock_rows_have_no_time(tmp_path: Path) -> None:
    log = MemorySegmentLog()
    StateTable(KEY, VALUE, log, SegmentCache(tmp_path)).put(rows({1: 2}, colliding=False))
    [segment] = log.manifest()
    stored = SegmentCache(tmp_path).load(segment.id, log)
    assert stored.column_names == [HASH, "key", "value", DEAD]


def test_an_expired_group_starts_anew(tmp_path: Path) -> None:
    calls = (Call("n", Function.COUNT_STAR), Call("all", Function.LISTAGG, "word"))
    schema = pa.schema([("key", pa.string()), ("word", pa.string())])
    bench = Bench(tmp_path, AggregateOperator(("key",), calls, schema, expires=True), schema)
    bench.now = 10
    bench.step([(RowKind.INSERT, ("A", "x")), (RowKind.INSERT, ("B", "y"))])
    bench.now = 20
    bench.step([(RowKind.INSERT, ("B", "z"))])
    bench.expire(15)
    changes = bench.step([(RowKind.INSERT, ("A", "w")), (RowKind.DELETE, ("B", "z"))])
    images = {change["key"]: (RowKind(change[KIND]).symbol, change["n"], change["all"]) for change in changes}
    # B's row was written again and lives; its first value was not, and is gone.
    assert images == {"A": ("+I", 1, "w"), "B": ("+U", 1, None)}


def test_with_a_lifetime_the_same_result_is_said_again(tmp_path: Path) -> None:
    row = ("A", 1)
    counted = AggregateOperator(("key",), (Call("uv", Function.COUNT, "x", distinct=True),), SCHEMA, expires=True)
    for operator in (counted, NormaliseOperator(("key",), SCHEMA, expires=True)):
        bench = Bench(tmp_path, operator, SCHEMA)
        assert [change[KIND] for change in bench.step([(RowKind.INSERT, row)])] == [RowKind.INSERT]
        assert [change[KIND] for change in bench.step([(RowKind.INSERT, row)])] == [RowKind.UPDATE_AFTER]
