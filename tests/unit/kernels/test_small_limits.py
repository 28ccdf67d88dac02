"""Random changelogs over tables that merge and filter a few rows as others do millions, and where hashes collide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import RowKind
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.operator import ROWS
from millstream.kernels.origins import ORIGIN
from millstream.state.state_table import TimeToLive
from tests.unit.kernels.aggregate_cases import batches, every_call, inserts, operator, rows, run
from tests.unit.kernels.bench import Bench, Reader
from tests.unit.tiny_segments import tiny_segments

if TYPE_CHECKING:
    from tests.unit.kernels.aggregate_cases import Step
    from tests.unit.kernels.bench import Change, Row

CALLS = st.lists(st.sampled_from(every_call()), min_size=2, max_size=5)
KINDS = st.sampled_from(["insert", "insert", "insert", "retract", "update", "ghost", "empty"])
STEPS = st.lists(st.tuples(KINDS, rows, st.integers(0, 1000), st.booleans()), min_size=8, max_size=12)
KEYS = st.sampled_from([("region",), ("region", "shift"), ("wide",)])


@given(drawn=STEPS, calls=CALLS, keys=KEYS, colliding=st.booleans(), pieces=st.integers(1, 3))
def test_any_changelog_folds_to_the_truth(
    drawn: list[Step], calls: list[Call], keys: tuple[str, ...], pieces: int, *, colliding: bool
) -> None:
    known = drawn if "region" in keys else [step for step in drawn if step[0] != "ghost"]
    with tiny_segments():
        run(operator(calls, keys), batches(known), colliding=colliding, pieces=pieces)


@given(drawn=inserts, calls=CALLS, keys=KEYS, colliding=st.booleans(), pieces=st.integers(1, 3))
def test_any_inserts_fold_to_the_truth(
    drawn: list[Step], calls: list[Call], keys: tuple[str, ...], pieces: int, *, colliding: bool
) -> None:
    with tiny_segments():
        run(operator(calls, keys, insert_only=True), batches(drawn), colliding=colliding, pieces=pieces)


SCHEMA = pa.schema([("key", pa.int64()), ("x", pa.int64()), ("keen", pa.bool_())])
DISTINCT = (
    Call("rows", "COUNT(*)"),
    Call("uv", "COUNT", "x", distinct=True),
    Call("keen", "COUNT", "x", distinct=True, filter="keen"),
)
TIMED = st.lists(
    st.tuples(st.integers(0, 6), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.booleans()), max_size=6)),
    max_size=10,
)
LENGTH = 10


class ExpiringGroup:
    """Counts a value again once it has expired; its marks share one time."""

    def __init__(self) -> None:
        self.uv = self.keen = 0
        self._values: dict[int, tuple[int, bool]] = {}

    def see(self, now: int, x: int, *, keen: bool) -> None:
        at, was_keen = self._values.get(x, (now - LENGTH, False))
        is_live = at > now - LENGTH
        self.uv += not is_live
        self.keen += keen and not (is_live and was_keen)
        self._values[x] = (now, keen or (is_live and was_keen))


@given(drawn=TIMED, colliding=st.booleans(), insert_only=st.booleans())
def test_a_group_that_expired_takes_its_values_with_it(
    drawn: list[tuple[int, list[Row]]], *, colliding: bool, insert_only: bool
) -> None:
    """A group that comes back has a new number, so that none of its old values is taken for one of its own."""
    spec = AggregateOperator(("key",), DISTINCT, SCHEMA, insert_only=insert_only, repeats=True)
    bench = Bench(spec, SCHEMA, colliding=colliding)
    groups: dict[int, tuple[int, ExpiringGroup]] = {}
    now = 0
    for later, batch in drawn:
        now += later
        bench.ttl = TimeToLive(now, LENGTH)
        with tiny_segments():
            changes = bench.step([(RowKind.INSERT, row) for row in batch]) if batch else []
        for key, x, keen in batch:
            at, group = groups.get(key, (now, ExpiringGroup()))
            group = group if at > now - LENGTH else ExpiringGroup()
            group.see(now, x, keen=keen)
            groups[key] = (now, group)
        found = {change["key"]: (change["uv"], change["keen"]) for change in changes}
        assert found == {key: (groups[key][1].uv, groups[key][1].keen) for key, _, _ in batch}


def test_a_group_that_goes_and_comes_within_a_batch_is_the_same_group() -> None:
    spec = AggregateOperator(("key",), DISTINCT, SCHEMA)
    for colliding in (False, True):
        bench, reader = Bench(spec, SCHEMA, colliding=colliding), Reader(("key",), sees_before=False)
        reader.read(bench.step(rows_of(RowKind.INSERT, 1, 2, 3)))
        reader.read(bench.step([*rows_of(RowKind.DELETE, 1, 2, 3), *rows_of(RowKind.INSERT, 2, 4)]))
        assert reader.table == {(1,): (1, 2, 2, 2)}
        reader.read(bench.step(rows_of(RowKind.DELETE, 2, 4)))
        assert reader.table == {}
        assert set(bench.stored_rows().values()) == {0}
        reader.read(bench.step(rows_of(RowKind.INSERT, 2)))
        assert reader.table == {(1,): (1, 1, 1, 1)}
        assert bench.ignored == 0


def rows_of(kind: RowKind, *values: int) -> list[Change]:
    return [(kind, (1, value, True)) for value in values]


def test_parts_of_a_batch_have_different_origins_in_every_process() -> None:
    """Whatever seed a user's function has set."""
    import random

    spec = AggregateOperator(("key",), DISTINCT, SCHEMA)
    bench = Bench(spec, SCHEMA, colliding=True)
    table = bench._table(ROWS, [(RowKind.INSERT, (key, 1, True)) for key in range(5)])
    drawn = []
    for _ in range(2):
        random.seed(7)
        drawn.append(set(spec.combine(ROWS, table)["groups"].column(ORIGIN).to_pylist()))
    assert not drawn[0] & drawn[1]
