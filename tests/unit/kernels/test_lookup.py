"""Rows of a table by their primary key, and which of them match, against plain dictionaries."""

from __future__ import annotations

import math
from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.kernels.lookup import CurrentRows

_SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string())])
_CITIES = st.sampled_from(["oslo", "bern", None])
_UPSERTS = st.lists(st.tuples(st.integers(0, 6), _CITIES, st.booleans()), max_size=40)


def _changes(rows: list[tuple[int, str | None, bool]]) -> pa.Table:
    kinds = [RowKind.DELETE if gone else RowKind.UPDATE_AFTER for *_, gone in rows]
    columns = [[row[0] for row in rows], [None if gone else city for _, city, gone in rows], kinds]
    return pa.table(columns, schema=_SCHEMA.append(pa.field(KIND, pa.int8())))


@given(_UPSERTS, st.lists(st.integers(0, 40), max_size=4), st.lists(st.integers(-1, 7) | st.none(), max_size=20))
def test_rows_match_the_last_upsert_of_their_key(
    upserts: list[tuple[int, str | None, bool]], cuts: list[int], probed: list[int | None]
) -> None:
    table = CurrentRows(_SCHEMA, ["id"])
    places = [0, *sorted(min(cut, len(upserts)) for cut in cuts), len(upserts)]
    for start, end in pairwise(places):
        table.apply(_changes(upserts[start:end]))
    expected: dict[int, str | None] = {}
    for key, city, gone in upserts:
        expected.pop(key, None)
        if not gone:
            expected[key] = city
    assert {row["id"]: row["city"] for row in table.rows.to_pylist()} == expected
    left, right = table.match(pa.record_batch([pa.array(probed, pa.int64())], ["k"]), ["k"], ["id"])
    found = [(place, table.rows.column("city")[row].as_py()) for place, row in zip(left, right, strict=True)]
    assert found == [(place, expected[key]) for place, key in enumerate(probed) if key is not None and key in expected]


@given(st.lists(_CITIES, max_size=20))
def test_a_row_matches_all_rows_with_its_value(probed: list[str | None]) -> None:
    table = CurrentRows(_SCHEMA, [])
    table.apply(pa.table([[1, 2, 3, 4], ["oslo", "bern", "oslo", None]], schema=_SCHEMA))
    left, right = table.match(pa.record_batch([pa.array(probed, pa.string())], ["c"]), ["c"], ["city"])
    ids = {"oslo": [1, 3], "bern": [2], None: []}
    expected = [(place, id_) for place, city in enumerate(probed) for id_ in ids[city]]
    assert [(place, table.rows.column("id")[row].as_py()) for place, row in zip(left, right, strict=True)] == expected


def test_floats_match_as_sql_compares_them() -> None:
    schema = pa.schema([("x", pa.float64())])
    table = CurrentRows(schema, [])
    table.apply(pa.table([[0.0, math.nan, None]], schema=schema))
    probe = pa.record_batch([pa.array([-0.0, math.nan, None], pa.float64())], ["x"])
    left, right = table.match(probe, ["x"], ["x"])
    assert list(zip(left, right, strict=True)) == [(0, 0), (1, 1)]


def test_composite_keys_match_as_a_whole() -> None:
    schema = pa.schema([("a", pa.int32()), ("b", pa.string()), ("n", pa.int32())])
    table = CurrentRows(schema, ["a", "b"])
    rows = [[1, 1, 2, 1], ["x", "y", "x", "x"], [1, 2, 3, 4]]
    table.apply(pa.table([*rows, [2, 2, 2, 2]], schema=schema.append(pa.field(KIND, pa.int8()))))
    assert sorted(table.rows.column("n").to_pylist()) == [2, 3, 4]
    probe = pa.record_batch([pa.array(["x", "x"]), pa.array([1, 3])], ["q", "p"])
    left, right = table.match(probe, ["p", "q"], ["a", "b"])
    assert [(place, table.rows.column("n")[row].as_py()) for place, row in zip(left, right, strict=True)] == [(0, 4)]
