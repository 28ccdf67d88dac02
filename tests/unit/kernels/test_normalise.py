"""Upserts and tombstones in any batches become a changelog whose table holds the last row of each key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.kernels.normalise import NormaliseOperator
from tests.unit.kernels.bench import Bench, Change, Reader, Row

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("part", pa.string()),
        ("name", pa.string()),
        ("tags", pa.list_(pa.struct([("label", pa.string()), ("level", pa.int32())]))),
    ]
)
INPUT = SCHEMA.append(pa.field("wanted", pa.bool_()))
KEYS = ("id", "part")

keys = st.tuples(st.sampled_from([1, 2, 3, None]), st.sampled_from(["a", "b", None]))
tags = st.sampled_from([None, [], [None], [{"label": "x", "level": 1}], [{"label": None, "level": 2}]])
values = st.tuples(st.sampled_from(["n", "m", "", None]), tags, st.sampled_from([True, True, False, None]))
inputs = st.sampled_from([RowKind.INSERT, RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE, RowKind.UPDATE_BEFORE])
changes = st.tuples(inputs, keys, values, st.sampled_from([False] * 6 + [True]))


def batches(drawn: list[tuple[RowKind, Row, Row, bool]]) -> list[list[Change]]:
    """A tombstone has nothing but its key."""
    made: list[list[Change]] = [[]]
    for kind, key, value, cut in drawn:
        made[-1].append((kind, (*key, *((None, None, None) if kind is RowKind.DELETE else value))))
        if cut:
            made.append([])
    return [batch for batch in made if batch]


def follow(table: dict[Row, Row], batch: list[Change], *, filtered: bool) -> None:
    for kind, (*row, wanted) in batch:
        key = tuple(row[:2])
        if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER) and (wanted or not filtered):
            table[key] = (*key, row[2], tuple(row[3]) if row[3] is not None else None)
        else:
            table.pop(key, None)


@given(
    drawn=st.lists(changes, min_size=1, max_size=12),
    filtered=st.booleans(),
    emits_before=st.booleans(),
    colliding=st.booleans(),
    pieces=st.integers(1, 2),
)
def test_the_table_holds_the_last_row_of_each_key(
    drawn: list[tuple[RowKind, Row, Row, bool]],
    pieces: int,
    *,
    filtered: bool,
    emits_before: bool,
    colliding: bool,
) -> None:
    operator = NormaliseOperator(KEYS, SCHEMA, emits_before, "wanted" if filtered else None)
    bench = Bench(operator, INPUT, colliding=colliding)
    reader = Reader(KEYS, sees_before=emits_before)
    table: dict[Row, Row] = {}
    for batch in batches(drawn):
        reader.read(bench.step(batch, pieces=pieces))
        follow(table, batch, filtered=filtered)
        assert reader.table == table


def kinds(changes: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(RowKind(change[KIND]).symbol, change["name"]) for change in changes]


def test_each_line_of_the_decision_table() -> None:
    bench = Bench(NormaliseOperator(KEYS, SCHEMA, emits_before=True), INPUT)
    row, other = (1, "a", "n", None, True), (1, "a", "m", None, True)
    tombstone = (1, "a", None, None, None)
    assert kinds(bench.step([(RowKind.DELETE, tombstone)])) == []
    assert bench.ignored == 1
    assert kinds(bench.step([(RowKind.INSERT, row)])) == [("+I", "n")]
    assert kinds(bench.step([(RowKind.INSERT, row)])) == []
    assert kinds(bench.step([(RowKind.INSERT, other)])) == [("-U", "n"), ("+U", "m")]
    assert kinds(bench.step([(RowKind.DELETE, tombstone)])) == [("-D", "m")]
    assert kinds(bench.step([(RowKind.UPDATE_AFTER, row)])) == [("+I", "n")]
    assert bench.stored_rows() == {"rows": 1}


def test_a_filter_stores_what_matches() -> None:
    bench = Bench(NormaliseOperator(KEYS, SCHEMA, filter="wanted"), INPUT)
    assert kinds(bench.step([(RowKind.INSERT, (1, "a", "n", None, False))])) == []
    assert (bench.stored_rows(), bench.ignored) == ({"rows": 0}, 0)
    assert kinds(bench.step([(RowKind.INSERT, (1, "a", "n", None, True))])) == [("+I", "n")]
    assert kinds(bench.step([(RowKind.INSERT, (1, "a", "m", None, None))])) == [("-D", "n")]
    assert bench.stored_rows() == {"rows": 0}


def test_doubled_change_events_come_out_once() -> None:
    bench = Bench(NormaliseOperator(KEYS, SCHEMA), INPUT)
    old, new = (1, "a", "n", None, True), (1, "a", "m", None, True)
    update = [(RowKind.UPDATE_BEFORE, old), (RowKind.UPDATE_AFTER, new)]
    assert kinds(bench.step([(RowKind.INSERT, old), (RowKind.INSERT, old)])) == [("+I", "n")]
    assert kinds(bench.step(update)) == [("+U", "m")]
    assert kinds(bench.step(update)) == []
    assert kinds(bench.step(update[:1])) == [("-D", "m")]
