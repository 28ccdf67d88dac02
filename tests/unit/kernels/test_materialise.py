"""Several rows claim one primary key: the sink shows the latest, and the one before it when that one goes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.kernels.materialise import MaterialiseOperator
from tests.unit.kernels.bench import Bench, Change, Reader, Row

SCHEMA = pa.schema([("city", pa.string()), ("order", pa.int64()), ("sum", pa.float64()), ("note", pa.string())])
KEYS = ("city",)

rows = st.tuples(
    st.sampled_from(["oslo", "oslo", None]),
    st.sampled_from([1, 2, None]),
    st.sampled_from([0.5, None]),
    st.just("x"),
)
events = st.tuples(
    st.sampled_from(["come", "come", "go", "go", "ghost"]),
    rows,
    st.integers(0, 100),
    st.sampled_from([False] * 6 + [True]),
)


def batches(drawn: list[tuple[str, Row, int, bool]]) -> list[list[Change]]:
    live: list[Row] = []
    made: list[list[Change]] = [[]]
    for kind, row, choice, cut in drawn:
        if kind == "ghost":
            made[-1].append((RowKind.DELETE, row))
            if row in live:
                live.remove(row)
        elif kind == "come" or not live:
            live.append(row)
            made[-1].append((RowKind.UPDATE_AFTER if choice % 2 else RowKind.INSERT, row))
        else:
            made[-1].append((RowKind.UPDATE_BEFORE if choice % 2 else RowKind.DELETE, live.pop(choice % len(live))))
        if cut:
            made.append([])
    return [batch for batch in made if batch]


class ListPerKey:
    def __init__(self, upsert_key: tuple[str, ...]) -> None:
        self.lists: dict[Row, list[Row]] = {}
        self._places = [SCHEMA.get_field_index(name) for name in upsert_key or SCHEMA.names]
        self._replaces = bool(upsert_key)

    def follow(self, batch: list[Change]) -> None:
        for kind, row in batch:
            rows = self.lists.setdefault(row[:1], [])
            same = [index for index, old in enumerate(rows) if all(old[p] == row[p] for p in self._places)]
            comes = kind in (RowKind.INSERT, RowKind.UPDATE_AFTER)
            if same and (self._replaces or not comes):
                del rows[same[0]]
            if comes:
                rows.append(row)

    def last_rows(self) -> dict[Row, Row]:
        return {key: rows[-1] for key, rows in self.lists.items() if rows}


@given(
    drawn=st.lists(events, min_size=1, max_size=12),
    upsert_key=st.sampled_from([(), ("order",), ("city", "order")]),
    colliding=st.booleans(),
    pieces=st.integers(1, 2),
)
def test_the_latest_row_of_each_key_is_shown(
    drawn: list[tuple[str, Row, int, bool]],
    upsert_key: tuple[str, ...],
    pieces: int,
    *,
    colliding: bool,
) -> None:
    operator = MaterialiseOperator(KEYS, SCHEMA, upsert_key)
    bench = Bench(operator, SCHEMA, colliding=colliding)
    reader = Reader(KEYS, sees_before=False)
    oracle = ListPerKey(upsert_key)
    for batch in batches(drawn):
        reader.read(bench.step(batch, pieces=pieces))
        oracle.follow(batch)
        assert reader.table == oracle.last_rows()


def kinds(changes: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    return [(RowKind(change[KIND]).symbol, change["order"]) for change in changes]


def test_what_is_taken_back_shows_the_row_before_it() -> None:
    bench = Bench(MaterialiseOperator(KEYS, SCHEMA), SCHEMA)
    first, second = ("oslo", 1, 1.0, None), ("oslo", 2, 2.0, None)
    assert kinds(bench.step([(RowKind.INSERT, first)])) == [("+I", 1)]
    assert kinds(bench.step([(RowKind.INSERT, second)])) == [("+U", 2)]
    assert kinds(bench.step([(RowKind.DELETE, second)])) == [("+U", 1)]
    assert kinds(bench.step([(RowKind.DELETE, second)])) == []
    assert bench.ignored == 1
    assert kinds(bench.step([(RowKind.UPDATE_BEFORE, first)])) == [("-D", 1)]
    assert bench.stored_rows() == {"keys": 0, "rows": 0}


def test_a_row_below_the_latest_goes_unseen() -> None:
    bench = Bench(MaterialiseOperator(KEYS, SCHEMA), SCHEMA)
    first, second = ("oslo", 1, 1.0, None), ("oslo", 2, 2.0, None)
    assert kinds(bench.step([(RowKind.INSERT, first), (RowKind.INSERT, second)])) == [("+I", 2)]
    assert kinds(bench.step([(RowKind.DELETE, first)])) == []
    assert kinds(bench.step([(RowKind.DELETE, second)])) == [("-D", 2)]


def test_a_retraction_before_its_row_takes_nothing() -> None:
    bench = Bench(MaterialiseOperator(KEYS, SCHEMA), SCHEMA)
    row = ("oslo", 1, 1.0, None)
    assert kinds(bench.step([(RowKind.DELETE, row), (RowKind.INSERT, row)])) == [("+I", 1)]
    assert bench.ignored == 1
