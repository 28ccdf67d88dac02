"""Any two changelogs, cut into any batches: what is read from the output is the join of the rows that are left."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.kernels import join_kernel
from millstream.kernels.join import JoinOperator, JoinSide
from millstream.state.segment_writer import PIECE_BYTES
from millstream.state.state_table import TimeToLive
from tests.unit.kernels.bench import Bench, Change, Row
from tests.unit.tiny_segments import TINY_PIECE, tiny_segments

LEFT = pa.schema(
    [
        ("l_id", pa.int64()),
        ("l_city", pa.string()),
        ("l_price", pa.decimal128(12, 2)),
        ("l_day", pa.date32()),
        ("l_weight", pa.float64()),
        ("l_note", pa.string()),
    ]
)
RIGHT = pa.schema(
    [
        ("r_note", pa.string()),
        ("r_id", pa.int64()),
        ("r_city", pa.string()),
        ("r_price", pa.decimal128(12, 2)),
        ("r_day", pa.date32()),
        ("r_weight", pa.float64()),
        ("r_at", pa.timestamp("us", tz="UTC")),
        ("r_raw", pa.binary()),
        ("r_is_open", pa.bool_()),
        ("r_small", pa.int16()),
    ]
)
KEYS = (
    (("l_id",), ("r_id",)),
    (("l_city",), ("r_city",)),
    (("l_price",), ("r_price",)),
    (("l_id", "l_city"), ("r_id", "r_city")),
    (("l_weight", "l_day"), ("r_weight", "r_day")),
)
keyed = (
    st.sampled_from([1, 1, 2, -(2**63), None]),
    st.sampled_from(["oslo", "oslo", "wüste", "", None]),
    st.sampled_from([Decimal("0.10"), Decimal("0.10"), Decimal("-9999999999.99"), None]),
    st.sampled_from([date(2026, 1, 1), date(1969, 12, 31), None]),
    st.sampled_from([0.5, 0.5, -1e300, float("inf"), None]),
)
notes = st.sampled_from(["x", "x", "y", None])
left_rows: st.SearchStrategy[Row] = st.tuples(*keyed, notes)
right_rows: st.SearchStrategy[Row] = st.tuples(
    notes,
    *keyed,
    st.sampled_from([datetime(2026, 1, 1, tzinfo=UTC), None]),
    st.sampled_from([b"", b"\x00\xff", None]),
    st.sampled_from([True, False, None]),
    st.sampled_from([0, -32768, None]),
)
moves = st.sampled_from(["insert", "insert", "insert", "again", "delete", "delete", "update", "missing"])
cuts = st.sampled_from([False] * 5 + [True])
steps = st.lists(
    st.tuples(st.booleans(), moves, left_rows, right_rows, st.integers(0, 1000), cuts), min_size=6, max_size=24
)
Step = tuple[bool, str, Row, Row, int, bool]
Batch = dict[str, list[Change]]


def batches(drawn: list[Step]) -> list[Batch]:
    live: dict[str, list[Row]] = {"left": [], "right": []}
    made: list[Batch] = [{"left": [], "right": []}]
    for is_left, move, left_row, right_row, choice, cut in drawn:
        side, row = ("left", left_row) if is_left else ("right", right_row)
        rows, changes = live[side], made[-1][side]
        old = rows[choice % len(rows)] if rows else None
        if move == "missing":
            changes.append((RowKind.DELETE, row))
            if row in rows:
                rows.remove(row)
        elif move == "insert" or old is None:
            rows.append(row)
            changes.append((RowKind.INSERT, row))
        elif move == "again":
            rows.append(old)
            changes.append((RowKind.INSERT, old))
        else:
            rows.remove(old)
            changes.append((RowKind.UPDATE_BEFORE if move == "update" else RowKind.DELETE, old))
            if move == "update":
                rows.append(row)
                changes.append((RowKind.UPDATE_AFTER, row))
        if cut:
            made.append({"left": [], "right": []})
    return [batch for batch in made if any(batch.values())]


SIDES = st.sampled_from([(), ("left",), ("right",), ("left", "right")])


def only_inserts(drawn: list[Step], sides: tuple[str, ...]) -> list[Step]:
    """The same steps, with nothing but inserts on these sides."""
    is_added = ("insert", "again")
    return [
        (step[0], "insert", *step[2:])
        if ("left" if step[0] else "right") in sides and step[1] not in is_added
        else step
        for step in drawn
    ]


def with_inserts(spec: JoinOperator, sides: tuple[str, ...]) -> JoinOperator:
    left, right = (replace(spec.side(name), insert_only=name in sides) for name in spec.inputs)
    return replace(spec, left=left, right=right)


class Side:
    """The rows of an input. Within a batch order does not matter: changes of a row are summed, then applied."""

    def __init__(self, schema: pa.Schema, keys: tuple[str, ...]) -> None:
        self.rows: Counter[Row] = Counter()
        self.missing = 0
        self._schema = schema
        self._places = [schema.get_field_index(key) for key in keys]

    def follow(self, changes: list[Change]) -> None:
        sums: Counter[Row] = Counter()
        for kind, row in changes:
            sums[row] += 1 if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1
        for row, count in sums.items():
            if all(row[place] is not None for place in self._places):
                self.missing += max(-(self.rows[row] + count), 0)
                self.rows[row] = max(self.rows[row] + count, 0)

    def table(self) -> pa.Table:
        rows = [dict(zip(self._schema.names, row, strict=True)) for row in self.rows.elements()]
        return pa.Table.from_pylist(rows, schema=self._schema)


class JoinOracle:
    """Two inputs and their join, which DuckDB computes."""

    def __init__(self, database: duckdb.DuckDBPyConnection, keys: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
        self.sides = {"left": Side(LEFT, keys[0]), "right": Side(RIGHT, keys[1])}
        self._database = database
        self._condition = " AND ".join(f"{one} = {other}" for one, other in zip(*keys, strict=True))

    def follow(self, batch: Batch) -> Counter[Row]:
        for name, side in self.sides.items():
            side.follow(batch[name])
            self._database.register(name, side.table())
        query = f'SELECT "left".*, "right".* FROM "left" JOIN "right" ON {self._condition}'
        return Counter(self._database.execute(query).fetchall())


class Multiset:
    """What a changelog without keys makes; it refuses what cannot be."""

    def __init__(self) -> None:
        self.rows: Counter[Row] = Counter()

    def read(self, changes: list[dict[str, Any]]) -> None:
        for change in changes:
            row = tuple(value for name, value in change.items() if name != KIND)
            if change[KIND] == RowKind.DELETE:
                assert self.rows[row] > 0, "-D of a row that is not there"
                self.rows[row] -= 1
            else:
                assert change[KIND] == RowKind.INSERT
                self.rows[row] += 1
        self.rows = +self.rows


def operator(keys: tuple[tuple[str, ...], tuple[str, ...]], *, expires: bool = False) -> JoinOperator:
    return JoinOperator(JoinSide(LEFT, keys[0]), JoinSide(RIGHT, keys[1]), expires)


@given(
    drawn=steps,
    keys=st.sampled_from(KEYS),
    pieces=st.integers(1, 2),
    buckets=st.sampled_from([1, 3]),
    layouts=st.tuples(SIDES, SIDES),
    turn=st.integers(0, 6),
    expires=st.booleans(),
    colliding=st.booleans(),
    in_parts=st.booleans(),
)
def test_the_output_is_the_join_after_every_batch(
    drawn: list[Step],
    keys: tuple[tuple[str, ...], tuple[str, ...]],
    pieces: int,
    buckets: int,
    layouts: tuple[tuple[str, ...], tuple[str, ...]],
    *,
    turn: int,
    expires: bool,
    colliding: bool,
    in_parts: bool,
) -> None:
    """`layouts` are the sides that are known to be insert-only, up to a batch and from there on."""
    specs = [with_inserts(operator(keys, expires=expires), sides) for sides in layouts]
    schemas = {"left": LEFT, "right": RIGHT}
    piece_bytes = TINY_PIECE if in_parts else PIECE_BYTES
    bench = Bench(specs[0], schemas, colliding=colliding, buckets=buckets, piece_bytes=piece_bytes)
    found = Multiset()
    with duckdb.connect() as database, tiny_segments() if in_parts else nullcontext():
        database.execute("SET TimeZone = 'UTC'")
        oracle = JoinOracle(database, keys)
        for number, batch in enumerate(batches(only_inserts(drawn, (*layouts[0], *layouts[1])))):
            bench.run(specs[number >= turn])
            found.read(bench.step_inputs(batch, pieces=pieces))
            assert found.rows == oracle.follow(batch)
            assert bench.ignored == sum(side.missing for side in oracle.sides.values())
    stored = bench.stored_rows()
    assert all(stored.get(name, 0) >= len(+side.rows) for name, side in oracle.sides.items())


SMALL_LEFT = pa.schema([("key", pa.string()), ("x", pa.int64())])
SMALL_RIGHT = pa.schema([("other", pa.string()), ("y", pa.int64())])
SMALL = {"left": SMALL_LEFT, "right": SMALL_RIGHT}
INSERT, UB, UA, D = RowKind


def small(*, expires: bool = False) -> JoinOperator:
    return JoinOperator(JoinSide(SMALL_LEFT, ("key",)), JoinSide(SMALL_RIGHT, ("other",)), expires)


def summarise(changes: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(RowKind(change[KIND]).symbol, change["x"], change["y"]) for change in changes]


def test_deletes_come_before_inserts() -> None:
    bench = Bench(small(), SMALL)
    assert summarise(bench.step_inputs({"left": [(INSERT, ("a", 1))], "right": [(INSERT, ("a", 7))]})) == [("+I", 1, 7)]
    update = [(UA, ("a", 2)), (UB, ("a", 1))]
    assert summarise(bench.step_inputs({"left": update, "right": [(INSERT, ("a", 8))]}))[:1] == [("-D", 1, 7)]
    both = {"left": [(UB, ("a", 2)), (UA, ("a", 3))], "right": [(UB, ("a", 7)), (UA, ("a", 9))]}
    changes = summarise(bench.step_inputs(both))
    assert sorted(changes[:2]) == [("-D", 2, 7), ("-D", 2, 8)]
    assert sorted(changes[2:]) == [("+I", 3, 8), ("+I", 3, 9)]


def test_what_cancels_out_in_a_batch_is_not_seen() -> None:
    bench = Bench(small(), SMALL)
    bench.step_inputs({"left": [(INSERT, ("a", 1))], "right": [(INSERT, ("a", 7))]})
    again = [(UB, ("a", 1)), (UA, ("a", 1))]
    gone = [(INSERT, ("a", 8)), (D, ("a", 8))]
    assert bench.step_inputs({"left": again, "right": gone}) == []
    # One row more on one side, one of two rows less on the other: as many pairs as before.
    assert len(bench.step_inputs({"right": [(INSERT, ("a", 7))]})) == 1
    assert bench.step_inputs({"left": [(INSERT, ("a", 1))], "right": [(D, ("a", 7))]}) == []
    assert (bench.stored_rows(), bench.ignored) == ({"left": 1, "right": 1}, 0)


def test_rows_without_a_key_are_not_stored() -> None:
    bench = Bench(small(), SMALL)
    assert bench.step_inputs({"left": [(INSERT, (None, 1)), (D, (None, 2))], "right": [(INSERT, (None, 1))]}) == []
    assert (bench.stored_rows(), bench.ignored) == ({}, 0)


def test_a_retraction_of_a_row_that_is_not_there_is_counted() -> None:
    bench = Bench(small(), SMALL)
    bench.step_inputs({"left": [(INSERT, ("a", 1))], "right": [(INSERT, ("a", 7))]})
    assert bench.step_inputs({"left": [(D, ("a", 2)), (D, ("b", 1))]}) == []
    assert summarise(bench.step_inputs({"left": [(D, ("a", 1))] * 3})) == [("-D", 1, 7)]
    assert bench.ignored == 4
    assert bench.stored_rows() == {"left": 0, "right": 1}


def test_rows_expire_after_their_last_write() -> None:
    bench = Bench(small(expires=True), SMALL)
    bench.ttl = TimeToLive(10, 15)
    bench.step_inputs({"left": [(INSERT, ("a", 1)), (INSERT, ("b", 1))], "right": []})
    bench.ttl = TimeToLive(20, 15)
    again = [(UB, ("b", 1)), (UA, ("b", 1))]
    assert bench.step_inputs({"left": again}) == []
    bench.ttl = TimeToLive(30, 15)
    assert summarise(bench.step_inputs({"right": [(INSERT, ("a", 7)), (INSERT, ("b", 8))]})) == [("+I", 1, 8)]
    assert bench.step_inputs({"left": [(D, ("a", 1))]}) == []
    assert bench.ignored == 1
    # What is written again is said again, so that the state of readers lives on too.
    assert summarise(bench.step_inputs({"left": again})) == [("-D", 1, 8), ("+I", 1, 8)]


def test_rows_of_one_side_may_expire_before_those_of_the_other() -> None:
    sides = JoinSide(SMALL_LEFT, ("key",), ttl_ms=10), JoinSide(SMALL_RIGHT, ("other",), ttl_ms=0)
    bench = Bench(JoinOperator(*sides, expires=True), SMALL)
    bench.ttl = TimeToLive(0, 5)
    bench.step_inputs({"left": [(INSERT, ("a", 1))], "right": [(INSERT, ("a", 7))]})
    bench.ttl = TimeToLive(9, 5)
    assert summarise(bench.step_inputs({"right": [(INSERT, ("a", 8))]})) == [("+I", 1, 8)]
    bench.ttl = TimeToLive(10, 5)
    assert bench.step_inputs({"right": [(INSERT, ("a", 9))]}) == []
    assert sorted(summarise(bench.step_inputs({"left": [(INSERT, ("a", 2))]}))) == [
        ("+I", 2, 7),
        ("+I", 2, 8),
        ("+I", 2, 9),
    ]


def test_nan_is_equal_to_nan() -> None:
    left = pa.schema([("key", pa.float64()), ("x", pa.float32())])
    right = pa.schema([("y", pa.float64())])
    nan = float("nan")
    for colliding in (False, True):
        spec = JoinOperator(JoinSide(left, ("key",)), JoinSide(right, ("y",)))
        bench = Bench(spec, {"left": left, "right": right}, colliding=colliding)
        assert len(bench.step_inputs({"left": [(INSERT, (nan, nan))], "right": [(INSERT, (nan,))]})) == 1
        assert len(bench.step_inputs({"right": [(INSERT, (nan,)), (INSERT, (0.0,))]})) == 1
        both: Batch = {"left": [(UB, (nan, nan)), (UA, (nan, 1.0))], "right": [(D, (nan,))]}
        assert [change[KIND] for change in bench.step_inputs(both)] == [D, D, INSERT]
        assert bench.ignored == 0


def test_rows_with_nested_values() -> None:
    place = pa.struct([("city", pa.string()), ("at", pa.list_(pa.float64()))])
    left = pa.schema([("key", place), ("tags", pa.map_(pa.string(), pa.int32()))])
    right = pa.schema([("other", place), ("ids", pa.list_(pa.int32()))])
    here, there = {"city": "a", "at": [1.0, None]}, {"city": "a", "at": []}
    for colliding in (False, True):
        spec = JoinOperator(JoinSide(left, ("key",)), JoinSide(right, ("other",)))
        bench = Bench(spec, {"left": left, "right": right}, colliding=colliding)
        lefts = [(INSERT, (here, [("x", 1)])), (INSERT, (here, [("x", 2)])), (INSERT, (there, None))]
        changes = bench.step_inputs({"left": lefts, "right": [(INSERT, (here, [1, None]))]})
        assert sorted(str(change["tags"]) for change in changes) == ["[('x', 1)]", "[('x', 2)]"]
        gone = bench.step_inputs({"left": [(D, (here, [("x", 1)]))], "right": [(INSERT, (there, None))]})
        assert [(change[KIND], change["key"], change["tags"], change["ids"]) for change in gone] == [
            (D, here, [("x", 1)], [1, None]),
            (INSERT, there, None, None),
        ]
        assert bench.ignored == 0


def test_a_key_with_many_rows_comes_in_several_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_kernel, "_LARGEST_TABLE", 100)
    bench = Bench(small(), SMALL)
    found = Multiset()
    lefts = [("hot" if number % 3 else f"cold {number}", number) for number in range(90)]
    rights = [("hot" if number % 2 else f"cold {number}", number % 20) for number in range(60)]
    found.read(
        bench.step_inputs(
            {"left": [(RowKind.INSERT, row) for row in lefts], "right": [(RowKind.INSERT, row) for row in rights[:30]]}
        )
    )
    found.read(bench.step_inputs({"right": [(RowKind.INSERT, row) for row in rights[30:]]}))
    assert found.rows == Counter((*row, *other) for row in lefts for other in rights if row[0] == other[0])
    tables = bench.tables
    found.read(bench.step_inputs({"left": [(D, row) for row in lefts[:80]]}))
    assert found.rows == Counter((*row, *other) for row in lefts[80:] for other in rights if row[0] == other[0])
    assert bench.tables - tables > 1700 / 200


def appending(*, ttl_ms: int | None = None) -> JoinOperator:
    left = JoinSide(SMALL_LEFT, ("key",), ttl_ms, insert_only=True)
    right = JoinSide(SMALL_RIGHT, ("other",), ttl_ms, insert_only=True)
    return JoinOperator(left, right, expires=ttl_ms is not None)


@pytest.mark.parametrize("colliding", [False, True])
def test_inserts_of_a_key_with_many_rows_come_in_several_tables(
    monkeypatch: pytest.MonkeyPatch, *, colliding: bool
) -> None:
    monkeypatch.setattr(join_kernel, "_LARGEST_TABLE", 100)
    bench = Bench(appending(), SMALL, colliding=colliding)
    found, sides = Multiset(), (Counter[Row](), Counter[Row]())
    with tiny_segments():
        for first in range(0, 150, 30):
            lefts = [
                ("hot" if number % 3 else f"cold {number % 50}", number % 7) for number in range(first, first + 30)
            ]
            rights = [
                ("hot" if number % 2 else f"cold {number % 50}", number % 5) for number in range(first, first + 60)
            ]
            tables, known = bench.tables, found.rows.total()
            changes = {"left": [(INSERT, row) for row in lefts], "right": [(INSERT, row) for row in rights]}
            found.read(bench.step_inputs(changes))
            sides[0].update(lefts)
            sides[1].update(rights)
            assert found.rows == Counter(
                {
                    (*one, *other): n * m
                    for one, n in sides[0].items()
                    for other, m in sides[1].items()
                    if one[0] == other[0]
                }
            )
            assert bench.tables - tables >= (found.rows.total() - known) / 100
    if not colliding:
        assert bench.stored_rows()["left"] < 150, "equal rows are one when segments are merged"


@pytest.mark.parametrize("inserts", [(), ("left",), ("right",), ("left", "right")])
def test_rows_of_which_only_the_number_matters_have_no_columns(inserts: tuple[str, ...]) -> None:
    spec = JoinOperator(JoinSide(SMALL_LEFT, ()), JoinSide(pa.schema([]), ()))
    bench = Bench(with_inserts(spec, inserts), {"left": SMALL_LEFT, "right": pa.schema([])})
    row: Change = (INSERT, ())
    first = bench.step_inputs({"left": [(INSERT, ("a", 1))], "right": [row, row]})
    assert [(change[KIND], change["x"]) for change in first] == [(INSERT, 1), (INSERT, 1)]
    second = bench.step_inputs({"left": [(INSERT, ("b", 2))], "right": [row]})
    assert sorted((change[KIND], change["x"]) for change in second) == [(INSERT, 1), *[(INSERT, 2)] * 3]


def test_each_of_equal_inserts_expires_by_itself() -> None:
    bench = Bench(appending(ttl_ms=10), SMALL)
    with tiny_segments():
        for now in (0, 2, 4, 6, 8):
            bench.ttl = TimeToLive(now, 1)
            assert bench.step_inputs({"left": [(INSERT, ("a", 1))]}) == []
        bench.ttl = TimeToLive(13, 1)
        assert summarise(bench.step_inputs({"right": [(INSERT, ("a", 7))]})) == [("+I", 1, 7)] * 3
        bench.run(appending())
        bench.ttl = None
        assert summarise(bench.step_inputs({"right": [(INSERT, ("a", 8))]})) == [("+I", 1, 8)] * 3
        assert summarise(bench.step_inputs({"left": [(INSERT, ("a", 2))]})) == [("+I", 2, 7), ("+I", 2, 8)]


_TAGGED = pa.schema([("l", pa.int64()), ("tags", pa.map_(pa.string(), pa.int32()))])
_NUMBERED = pa.schema([("r", pa.int64()), ("at", pa.list_(pa.float64()))])
tagged: st.SearchStrategy[Row] = st.tuples(
    st.integers(0, 2), st.sampled_from([None, [], [("x", 1)], [("x", None)], [("x", 1), ("y", 2)]])
)
numbered: st.SearchStrategy[Row] = st.tuples(st.integers(0, 2), st.sampled_from([None, [], [1.0], [1.0, None]]))


@given(
    drawn=st.lists(st.tuples(st.lists(tagged, max_size=8), st.lists(numbered, max_size=8)), min_size=1, max_size=4),
    inserts=SIDES,
)
def test_rows_with_maps_and_lists_are_counted_as_a_whole(
    drawn: list[tuple[list[Row], list[Row]]], inserts: tuple[str, ...]
) -> None:
    spec = with_inserts(JoinOperator(JoinSide(_TAGGED, ("l",)), JoinSide(_NUMBERED, ("r",))), inserts)
    bench = Bench(spec, {"left": _TAGGED, "right": _NUMBERED})
    sides: tuple[list[Row], list[Row]] = ([], [])
    seen: Counter[str] = Counter()
    for left, right in drawn:
        changes: Batch = {
            "left": [(RowKind.INSERT, row) for row in left],
            "right": [(RowKind.INSERT, row) for row in right],
        }
        found = bench.step_inputs(changes) if left or right else []
        seen.update(repr(tuple(row[name] for name in (*_TAGGED.names, *_NUMBERED.names))) for row in found)
        sides[0].extend(left)
        sides[1].extend(right)
        assert seen == Counter(repr((*one, *other)) for one in sides[0] for other in sides[1] if one[0] == other[0])
