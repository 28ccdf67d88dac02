"""Outer, semi and anti joins of any two changelogs, cut into any batches, with a condition and without one."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.join_kinds import JoinKind
from millstream.kernels import join_pairs
from millstream.kernels.join import JoinOperator, JoinSide, PairCondition
from millstream.state.segment_writer import PIECE_BYTES
from millstream.state.state_table import TimeToLive
from tests.unit.kernels.bench import Bench
from tests.unit.kernels.test_join import (
    KEYS,
    LEFT,
    RIGHT,
    SIDES,
    SMALL_LEFT,
    SMALL_RIGHT,
    Multiset,
    Side,
    batches,
    only_inserts,
    steps,
    with_inserts,
)
from tests.unit.tiny_segments import TINY_PIECE, tiny_segments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.kernels.bench import Change, Row
    from tests.unit.kernels.test_join import Batch, Step

    Keys = tuple[tuple[str, ...], tuple[str, ...]]

INSERT, UB, UA, D = RowKind
OUTER = [kind for kind in JoinKind if kind is not JoinKind.INNER]
NO_KEYS: Keys = ((), ())


def differ(pairs: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in pairs:
        yield batch.filter(pc.not_equal(batch.column("l_note"), batch.column("r_note")))


CONDITIONS = {None: "TRUE", PairCondition(("l_note", "r_note"), differ): "l_note <> r_note"}


def operator(kind: JoinKind, keys: Keys, condition: PairCondition | None, *, expires: bool = False) -> JoinOperator:
    right = RIGHT
    if not kind.gives_pairs:
        wanted = (*keys[1], *(() if condition is None or "r_note" in keys[1] else ("r_note",)))
        right = pa.schema([RIGHT.field(name) for name in wanted])
    return JoinOperator(JoinSide(LEFT, keys[0]), JoinSide(right, keys[1]), expires, kind, condition)


def chosen(changes: list[Change], schema: pa.Schema) -> list[Change]:
    """Of the right rows, the columns that are stored."""
    places = [RIGHT.get_field_index(name) for name in schema.names]
    return [(kind, tuple(row[place] for place in places)) for kind, row in changes]


class Oracle:
    def __init__(self, database: duckdb.DuckDBPyConnection, spec: JoinOperator, condition: str) -> None:
        kept = {name: () if spec.keeps(name) else spec.side(name).keys for name in spec.inputs}
        self.sides = {name: Side(spec.side(name).schema, kept[name]) for name in spec.inputs}
        equalities = [f"{one} = {other}" for one, other in zip(spec.left.keys, spec.right.keys, strict=True)]
        on = " AND ".join([condition, *equalities])
        self._database = database
        self._query = f'SELECT * FROM "left" {spec.kind.value} JOIN "right" ON {on}'
        if not spec.kind.gives_pairs:
            exists = f'EXISTS (SELECT 1 FROM "right" WHERE {on})'
            word = "" if spec.kind is JoinKind.SEMI else "NOT"
            self._query = f'SELECT * FROM "left" WHERE {word} {exists}'
            if spec.kind is JoinKind.MARK:
                self._query = f'SELECT *, {exists} FROM "left"'

    def follow(self, batch: Batch) -> Counter[Row]:
        for name, side in self.sides.items():
            side.follow(batch[name])
            has_columns = bool(side.table().num_columns)
            nothing = pa.table({"nothing": pa.nulls(side.rows.total())})
            self._database.register(name, side.table() if has_columns else nothing)
        return Counter(self._database.execute(self._query).fetchall())


@given(
    drawn=steps,
    shape=st.tuples(st.sampled_from(OUTER), st.sampled_from([*KEYS, NO_KEYS]), st.sampled_from(list(CONDITIONS))),
    pieces=st.integers(1, 2),
    buckets=st.sampled_from([1, 3]),
    inserts=SIDES,
    expires=st.booleans(),
    colliding=st.booleans(),
    in_parts=st.booleans(),
)
def test_the_output_is_the_join_after_every_batch(
    drawn: list[Step],
    shape: tuple[JoinKind, Keys, PairCondition | None],
    pieces: int,
    buckets: int,
    inserts: tuple[str, ...],
    *,
    expires: bool,
    colliding: bool,
    in_parts: bool,
) -> None:
    spec = with_inserts(operator(*shape, expires=expires), inserts)
    bench = Bench(
        spec,
        {"left": LEFT, "right": spec.right.schema},
        colliding=colliding,
        buckets=buckets,
        piece_bytes=TINY_PIECE if in_parts else PIECE_BYTES,
    )
    found = Multiset()
    with duckdb.connect() as database, tiny_segments() if in_parts else nullcontext():
        database.execute("SET TimeZone = 'UTC'")
        oracle = Oracle(database, spec, CONDITIONS[spec.condition])
        for drawn_batch in batches(only_inserts(drawn, inserts)):
            batch = drawn_batch | {"right": chosen(drawn_batch["right"], spec.right.schema)}
            found.read(bench.step_inputs(batch, pieces=pieces))
            assert found.rows == oracle.follow(batch)
            assert bench.ignored == sum(side.missing for side in oracle.sides.values())


@given(
    drawn=steps,
    kind=st.sampled_from(OUTER),
    condition=st.sampled_from(list(CONDITIONS)),
    length=st.integers(1, 6),
    hinted=st.tuples(*[st.none() | st.integers(0, 9)] * 2),
    inserts=SIDES,
    colliding=st.booleans(),
    in_parts=st.booleans(),
)
def test_what_goes_was_there_when_rows_have_expired_too(
    drawn: list[Step],
    kind: JoinKind,
    condition: PairCondition | None,
    length: int,
    hinted: tuple[int | None, int | None],
    *,
    inserts: tuple[str, ...],
    colliding: bool,
    in_parts: bool,
) -> None:
    spec = with_inserts(operator(kind, KEYS[0], condition, expires=True), inserts)
    left, right = (length if ttl is None else ttl for ttl in hinted)
    spec = replace(spec, left=replace(spec.left, ttl_ms=left), right=replace(spec.right, ttl_ms=right))
    piece_bytes = TINY_PIECE if in_parts else PIECE_BYTES
    bench = Bench(spec, {"left": LEFT, "right": spec.right.schema}, colliding=colliding, piece_bytes=piece_bytes)
    found = Multiset()
    with tiny_segments() if in_parts else nullcontext():
        for now, batch in enumerate(batches(only_inserts(drawn, inserts))):
            bench.ttl = TimeToLive(2 * now, length)
            found.read(bench.step_inputs(batch | {"right": chosen(batch["right"], spec.right.schema)}))


SMALL = {"left": SMALL_LEFT, "right": SMALL_RIGHT}


def small(kind: JoinKind, *, expires: bool = False, ttls: tuple[int | None, int | None] = (None, None)) -> Bench:
    right = SMALL_RIGHT if kind.gives_pairs else SMALL_RIGHT.remove(1)
    sides = JoinSide(SMALL_LEFT, ("key",), ttls[0]), JoinSide(right, ("other",), ttls[1])
    spec = JoinOperator(*sides, expires, kind)
    return Bench(spec, {"left": SMALL_LEFT, "right": right})


def summarise(changes: list[dict[str, Any]]) -> list[tuple[str, Any, Any]]:
    return [(RowKind(change[KIND]).symbol, change.get("x"), change.get("y")) for change in changes]


def test_a_row_is_padded_until_it_has_a_partner_and_again_when_it_has_none() -> None:
    bench = small(JoinKind.LEFT)
    assert summarise(bench.step_inputs({"left": [(INSERT, ("a", 1))]})) == [("+I", 1, None)]
    assert summarise(bench.step_inputs({"right": [(INSERT, ("a", 7))]})) == [("-D", 1, None), ("+I", 1, 7)]
    assert summarise(bench.step_inputs({"right": [(INSERT, ("a", 8))]})) == [("+I", 1, 8)]
    assert summarise(bench.step_inputs({"right": [(D, ("a", 7))]})) == [("-D", 1, 7)]
    update = [(UB, ("a", 8)), (UA, ("a", 9))]
    assert summarise(bench.step_inputs({"right": update})) == [("-D", 1, 8), ("+I", 1, 9)]
    assert summarise(bench.step_inputs({"right": [(D, ("a", 9))]})) == [("-D", 1, 9), ("+I", 1, None)]
    assert summarise(bench.step_inputs({"left": [(D, ("a", 1))]})) == [("-D", 1, None)]
    assert bench.stored_rows() == {"left": 0, "right": 0, "right_keys": 0}


def test_a_null_key_has_no_partner_but_a_row() -> None:
    bench = small(JoinKind.FULL)
    both: Batch = {"left": [(INSERT, (None, 1))], "right": [(INSERT, (None, 7))]}
    assert sorted(summarise(bench.step_inputs(both)), key=str) == [("+I", 1, None), ("+I", None, 7)]
    assert summarise(bench.step_inputs({"right": [(D, (None, 7)), (D, (None, 8))]})) == [("-D", None, 7)]
    assert bench.ignored == 1


def test_only_the_first_and_the_last_row_of_a_key_matter_to_a_semi_join() -> None:
    bench = small(JoinKind.SEMI)
    assert bench.step_inputs({"left": [(INSERT, ("a", 1)), (INSERT, ("b", 2)), (INSERT, (None, 3))]}) == []
    assert summarise(bench.step_inputs({"right": [(INSERT, ("a",)), (INSERT, ("a",))]})) == [("+I", 1, None)]
    assert bench.step_inputs({"right": [(D, ("a",))]}) == []
    assert summarise(bench.step_inputs({"right": [(D, ("a",))]})) == [("-D", 1, None)]
    assert bench.stored_rows() == {"left": 2, "right": 0}


def test_an_anti_join_has_rows_without_a_key() -> None:
    bench = small(JoinKind.ANTI)
    rows: Batch = {"left": [(INSERT, ("a", 1)), (INSERT, (None, 3))], "right": [(INSERT, ("a",))]}
    assert summarise(bench.step_inputs(rows)) == [("+I", 3, None)]
    assert summarise(bench.step_inputs({"right": [(D, ("a",))]})) == [("+I", 1, None)]


def test_nan_is_a_partner_of_nan_and_null_of_nothing() -> None:
    left = pa.schema([("key", pa.float64()), ("x", pa.int64())])
    right = pa.schema([("other", pa.float64()), ("y", pa.int64())])
    nan = float("nan")
    for colliding in (False, True):
        spec = JoinOperator(JoinSide(left, ("key",)), JoinSide(right, ("other",)), kind=JoinKind.LEFT)
        bench = Bench(spec, {"left": left, "right": right}, colliding=colliding)
        rows: Batch = {"left": [(INSERT, (nan, 1)), (INSERT, (None, 2))], "right": [(INSERT, (nan, 7))]}
        assert sorted(summarise(bench.step_inputs(rows))) == [("+I", 1, 7), ("+I", 2, None)]
        assert summarise(bench.step_inputs({"right": [(D, (nan, 7))]})) == [("-D", 1, 7), ("+I", 1, None)]


def test_a_row_that_comes_when_all_its_partners_have_expired_is_padded() -> None:
    bench = small(JoinKind.LEFT, expires=True)
    bench.ttl = TimeToLive(0, 10)
    bench.step_inputs({"left": [(INSERT, ("a", 1))], "right": [(INSERT, ("a", 7))]})
    bench.ttl = TimeToLive(6, 10)
    assert summarise(bench.step_inputs({"left": [(INSERT, ("a", 2))]})) == [("+I", 2, 7)]
    bench.ttl = TimeToLive(12, 10)
    assert sorted(summarise(bench.step_inputs({"left": [(INSERT, ("a", 3))]}))) == [("+I", 2, None), ("+I", 3, None)]
    assert sorted(summarise(bench.step_inputs({"right": [(INSERT, ("a", 8))]}))) == [
        ("+I", 2, 8),
        ("+I", 3, 8),
        ("-D", 2, None),
        ("-D", 3, None),
    ]


@pytest.mark.parametrize("kind", [JoinKind.LEFT, JoinKind.SEMI])
def test_what_was_emitted_is_known_as_long_as_the_longer_ttl(kind: JoinKind) -> None:
    bench = small(kind, expires=True, ttls=(20, 5))
    bench.ttl = TimeToLive(0, 1)
    partner = ("a", 7) if kind.gives_pairs else ("a",)
    given = summarise(bench.step_inputs({"left": [(INSERT, ("a", 1))], "right": [(INSERT, partner)]}))
    assert given == [("+I", 1, 7 if kind.gives_pairs else None)]
    bench.ttl = TimeToLive(10, 1)
    # Of the pair, the right row has expired, and nobody can say that it goes; the left one was not padded.
    gone = summarise(bench.step_inputs({"left": [(D, ("a", 1))]}))
    assert gone == ([] if kind.gives_pairs else [("-D", 1, None)])


@pytest.mark.parametrize("kind", [JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI])
@pytest.mark.parametrize("condition", [False, True])
def test_many_rows_of_a_key_come_in_several_tables(
    monkeypatch: pytest.MonkeyPatch, kind: JoinKind, *, condition: bool
) -> None:
    monkeypatch.setattr(join_pairs, "_LARGEST_TABLE", 50)
    always = PairCondition(("x", "other"), lambda pairs: pairs) if condition else None
    right = SMALL_RIGHT if kind.gives_pairs else SMALL_RIGHT.remove(1)
    spec = JoinOperator(JoinSide(SMALL_LEFT, ("key",)), JoinSide(right, ("other",)), kind=kind, condition=always)
    bench = Bench(spec, {"left": SMALL_LEFT, "right": right})
    found = Multiset()
    lefts = [("hot" if number % 3 else f"cold {number}", number) for number in range(90)]
    rights = [("hot", number)[: len(right)] for number in range(20)]
    found.read(bench.step_inputs({"left": [(INSERT, row) for row in lefts]}))
    alone = Counter((*row, *(None,) * (len(right) if kind.gives_pairs else 0)) for row in lefts)
    assert found.rows == alone
    found.read(bench.step_inputs({"right": [(INSERT, row) for row in rights]}))
    assert found.rows.total() == 30 + (60 * 20 if kind.gives_pairs else 0)
    found.read(bench.step_inputs({"right": [(D, row) for row in rights]}))
    assert found.rows == alone
