"""Any two changelogs, cut into any batches: what is read from the output is what INTERSECT or EXCEPT gives."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.kernels import set_operation
from millstream.kernels.set_operation import SetOperator
from millstream.state.state_table import TimeToLive
from tests.unit.kernels.bench import Bench, Change, Row

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("city", pa.string()),
        ("price", pa.decimal128(12, 2)),
        ("weight", pa.float64()),
        ("raw", pa.binary()),
    ]
)
NAN = float("nan")
WORDS = {
    (is_except, is_distinct): f"{'EXCEPT' if is_except else 'INTERSECT'}{'' if is_distinct else ' ALL'}"
    for is_except in (False, True)
    for is_distinct in (False, True)
}
rows: st.SearchStrategy[Row] = st.tuples(
    st.sampled_from([1, 1, 1, -(2**63), None]),
    st.sampled_from(["oslo", "oslo", "oslo", "", None]),
    st.sampled_from([Decimal("0.10"), Decimal("0.10"), Decimal("-9999999999.99"), None]),
    st.sampled_from([0.0, 0.0, NAN, float("-inf"), None]),
    st.sampled_from([b"", b"", b"\x00\xff", None]),
)
moves = st.sampled_from(["insert", "insert", "insert", "again", "across", "delete", "delete", "update", "missing"])
steps = st.lists(
    st.tuples(st.booleans(), moves, rows, st.integers(0, 1000), st.sampled_from([False] * 4 + [True])),
    min_size=6,
    max_size=30,
)
Step = tuple[bool, str, Row, int, bool]
Batch = dict[str, list[Change]]


def batches(drawn: list[Step]) -> list[Batch]:
    """`across` adds a row that the other side has."""
    live: dict[str, list[Row]] = {"left": [], "right": []}
    made: list[Batch] = [{"left": [], "right": []}]
    for is_left, move, row, choice, cut in drawn:
        side, other = ("left", "right") if is_left else ("right", "left")
        own, changes = live[side], made[-1][side]
        source = live[other] if move == "across" else own
        old = source[choice % len(source)] if source else None
        if move == "missing":
            changes.append((RowKind.DELETE, row))
            if row in own:
                own.remove(row)
        elif move == "insert" or old is None:
            own.append(row)
            changes.append((RowKind.INSERT, row))
        elif move in ("again", "across"):
            own.append(old)
            changes.append((RowKind.INSERT, old))
        else:
            own.remove(old)
            changes.append((RowKind.UPDATE_BEFORE if move == "update" else RowKind.DELETE, old))
            if move == "update":
                own.append(row)
                changes.append((RowKind.UPDATE_AFTER, row))
        if cut:
            made.append({"left": [], "right": []})
    return [batch for batch in made if any(batch.values())]


class Oracle:
    """Two inputs, and what DuckDB makes of them. Within a batch, the changes of a row are summed, then applied."""

    def __init__(self, database: duckdb.DuckDBPyConnection, word: str) -> None:
        self.sides: dict[str, Counter[Row]] = {"left": Counter(), "right": Counter()}
        self.missing = 0
        self._database = database
        self._query = f'SELECT * FROM "left" {word} SELECT * FROM "right"'

    def follow(self, batch: Batch) -> Counter[Row]:
        for name, counts in self.sides.items():
            sums: Counter[Row] = Counter()
            for kind, row in batch[name]:
                sums[row] += 1 if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
            for row, count in sums.items():
                self.missing += max(-(counts[row] + count), 0)
                counts[row] = max(counts[row] + count, 0)
            found = [dict(zip(SCHEMA.names, row, strict=True)) for row in counts.elements()]
            self._database.register(name, pa.Table.from_pylist(found, schema=SCHEMA))
        return Counter(map(comparable, self._database.execute(self._query).fetchall()))


def comparable(row: Iterable[Any]) -> Row:
    """For Python, no two NaN are equal."""
    return tuple("NaN" if isinstance(value, float) and math.isnan(value) else value for value in row)


class Multiset:
    """What a changelog without keys makes; it refuses what cannot be."""

    def __init__(self) -> None:
        self.rows: Counter[Row] = Counter()

    def read(self, changes: list[dict[str, Any]]) -> None:
        kinds = [change[KIND] for change in changes]
        assert set(kinds) <= {RowKind.INSERT, RowKind.DELETE}
        for change in changes:
            row = comparable(value for name, value in change.items() if name != KIND)
            self.rows[row] += 1 if change[KIND] == RowKind.INSERT else -1
            assert self.rows[row] >= 0, "-D of a row that is not there"
        self.rows = +self.rows


@given(
    drawn=steps,
    kind=st.sampled_from(list(WORDS)),
    pieces=st.integers(1, 2),
    buckets=st.sampled_from([1, 3]),
    expires=st.booleans(),
    repeats=st.booleans(),
    colliding=st.booleans(),
)
def test_the_output_is_the_result_after_every_batch(
    drawn: list[Step],
    kind: tuple[bool, bool],
    pieces: int,
    buckets: int,
    *,
    expires: bool,
    repeats: bool,
    colliding: bool,
) -> None:
    is_except, is_distinct = kind
    spec = SetOperator(SCHEMA, is_except, is_distinct, expires=expires, repeats=expires and repeats)
    bench = Bench(spec, {"left": SCHEMA, "right": SCHEMA}, colliding=colliding, buckets=buckets)
    found = Multiset()
    with duckdb.connect() as database:
        oracle = Oracle(database, WORDS[kind])
        for batch in batches(drawn):
            found.read(bench.step_inputs(batch, pieces=pieces))
            assert found.rows == oracle.follow(batch)
            assert bench.ignored == oracle.missing


ONE = pa.schema([("a", pa.int64())])
INSERT, UB, UA, D = RowKind


def small(*, is_except: bool = False, is_distinct: bool = True, expires: bool = False, repeats: bool = False) -> Bench:
    spec = SetOperator(ONE, is_except, is_distinct, expires, repeats)
    return Bench(spec, {"left": ONE, "right": ONE})


def changes(found: list[dict[str, Any]]) -> list[tuple[RowKind, int]]:
    return [(RowKind(row[KIND]), row["a"]) for row in found]


def test_what_nets_to_nothing_changes_nothing() -> None:
    bench = small()
    bench.step_inputs({"left": [(INSERT, (1,))], "right": [(INSERT, (1,))]})
    assert bench.step_inputs({"left": [(UB, (1,)), (UA, (1,))], "right": [(INSERT, (1,)), (D, (1,))]}) == []


def test_a_row_moves_from_one_side_to_the_other() -> None:
    bench = small(is_except=True)
    assert changes(bench.step_inputs({"left": [(INSERT, (1,)), (INSERT, (2,))]})) == [(INSERT, 1), (INSERT, 2)]
    assert changes(bench.step_inputs({"right": [(INSERT, (1,)), (INSERT, (1,))]})) == [(D, 1)]
    assert bench.step_inputs({"right": [(D, (1,))]}) == []
    assert changes(bench.step_inputs({"right": [(D, (1,))], "left": [(D, (2,))]})) == [(D, 2), (INSERT, 1)]


def test_all_counts() -> None:
    bench = small(is_except=True, is_distinct=False)
    assert len(bench.step_inputs({"left": [(INSERT, (1,))] * 5})) == 5
    assert changes(bench.step_inputs({"right": [(INSERT, (1,))] * 3})) == [(D, 1)] * 3
    assert changes(bench.step_inputs({"right": [(INSERT, (1,))] * 3})) == [(D, 1)] * 2
    assert bench.step_inputs({"right": [(D, (1,))]}) == []
    assert changes(bench.step_inputs({"right": [(D, (1,))]})) == [(INSERT, 1)]


def test_rows_that_come_again_live_on_and_are_given_again() -> None:
    bench = small(expires=True, repeats=True)
    bench.ttl = TimeToLive(0, 10)
    bench.step_inputs({"left": [(INSERT, (1,))], "right": [(INSERT, (1,))]})
    bench.ttl = TimeToLive(8, 10)
    assert changes(bench.step_inputs({"left": [(UB, (1,)), (UA, (1,))]})) == [(D, 1), (INSERT, 1)]
    bench.ttl = TimeToLive(16, 10)
    assert changes(bench.step_inputs({"right": [(D, (1,))]})) == [(D, 1)]


def test_an_expired_row_is_new() -> None:
    bench = small(expires=True)
    bench.ttl = TimeToLive(0, 10)
    bench.step_inputs({"left": [(INSERT, (1,))], "right": [(INSERT, (1,))]})
    bench.ttl = TimeToLive(20, 10)
    assert bench.step_inputs({"left": [(INSERT, (1,))]}) == []
    assert changes(bench.step_inputs({"right": [(INSERT, (1,))]})) == [(INSERT, 1)]


def test_no_state_remains_of_rows_that_have_gone() -> None:
    bench = small()
    bench.step_inputs({"left": [(INSERT, (1,))], "right": [(INSERT, (1,))]})
    bench.step_inputs({"left": [(D, (1,))], "right": [(D, (1,))]})
    assert not any(bench.stored_rows().values())


NESTED = pa.schema(
    [
        ("place", pa.struct([("city", pa.string()), ("at", pa.list_(pa.float64()))])),
        ("tags", pa.map_(pa.string(), pa.int32())),
    ]
)
nested_rows: st.SearchStrategy[Row] = st.tuples(
    st.sampled_from([None, {"city": "a", "at": [1.0, None]}, {"city": "a", "at": None}, {"city": None, "at": []}]),
    st.sampled_from([None, [], [("x", 1)], [("x", None)], [("x", 1), ("y", 2)]]),
)


@given(
    drawn=st.lists(st.lists(st.tuples(st.booleans(), nested_rows), max_size=8), min_size=1, max_size=4),
    colliding=st.booleans(),
)
def test_nested_values_are_compared_as_a_whole(drawn: list[list[tuple[bool, Row]]], *, colliding: bool) -> None:
    spec = SetOperator(NESTED, is_except=False, is_distinct=False)
    bench = Bench(spec, {"left": NESTED, "right": NESTED}, colliding=colliding)
    sides: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    seen: Counter[str] = Counter()
    for batch in drawn:
        if not batch:
            continue
        of_sides: Batch = {
            name: [(INSERT, row) for is_left, row in batch if is_left is wanted]
            for name, wanted in (("left", True), ("right", False))
        }
        seen.update(repr(tuple(row[name] for name in NESTED.names)) for row in bench.step_inputs(of_sides))
        for side, counts in zip(of_sides.values(), sides, strict=True):
            counts.update(repr(row) for _, row in side)
        assert seen == sides[0] & sides[1]


def test_many_times_the_same_row_need_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_operation, "_LARGEST_TABLE", 100)
    bench = small(is_except=True, is_distinct=False)
    bench.step_inputs({"left": [(INSERT, (1,))] * 1050})
    tables = bench.tables
    assert len(bench.step_inputs({"right": [(INSERT, (1,))] * 1000})) == 1000
    assert bench.tables - tables == 10
