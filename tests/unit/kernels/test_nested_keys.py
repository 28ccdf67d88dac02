"""Rows, arrays and maps as keys and as values that count once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.changelog import KIND, RowKind
from millstream.kernels.aggregate import AggregateOperator, Call
from millstream.kernels.materialise import MaterialiseOperator
from millstream.kernels.normalise import NormaliseOperator
from tests.unit.kernels.bench import Bench

if TYPE_CHECKING:
    from tests.unit.kernels.bench import Change, Row

PLACE = pa.struct([("city", pa.string()), ("at", pa.list_(pa.float64()))])
TAGS = pa.map_(pa.string(), pa.int32())
SCHEMA = pa.schema([("place", PLACE), ("tags", TAGS), ("ids", pa.list_(pa.int32()))])
HERE, THERE = {"city": "a", "at": [1.0, None]}, {"city": "a", "at": None}
rows: st.SearchStrategy[Row] = st.tuples(
    st.sampled_from([None, HERE, THERE, {"city": None, "at": []}]),
    st.sampled_from([None, [], [("x", 1)], [("x", None)], [("x", 1), ("y", 2)]]),
    st.sampled_from([None, [], [1], [1, None], [1, 2]]),
)
batches = st.lists(st.lists(st.tuples(st.booleans(), rows), min_size=1, max_size=6), min_size=1, max_size=4)


@given(drawn=batches, keys=st.sampled_from([("place",), ("tags", "ids"), ("place", "tags")]), colliding=st.booleans())
def test_groups_by_nested_keys(
    drawn: list[list[tuple[bool, Row]]],
    keys: tuple[str, ...],
    *,
    colliding: bool,
) -> None:
    distinct = tuple(Call(f"distinct {name}", "COUNT", name, distinct=True) for name in SCHEMA.names)
    operator = AggregateOperator(keys, (Call("rows", "COUNT(*)"), *distinct), SCHEMA)
    bench = Bench(operator, SCHEMA, colliding=colliding)
    live: list[Row] = []
    table: dict[str, tuple[int, ...]] = {}
    for batch in drawn:
        for change in bench.step(changes(batch, live)):
            place = repr([change.pop(name) for name in keys])
            if change.pop(KIND) == RowKind.DELETE:
                del table[place]
            else:
                table[place] = tuple(change.values())
        assert table == truth(keys, live)


def changes(batch: list[tuple[bool, Row]], live: list[Row]) -> list[Change]:
    made = []
    for comes, row in batch:
        if comes or row not in live:
            live.append(row)
            made.append((RowKind.INSERT, row))
        else:
            live.remove(row)
            made.append((RowKind.DELETE, row))
    return made


def truth(keys: tuple[str, ...], live: list[Row]) -> dict[str, tuple[int, ...]]:
    places = [SCHEMA.names.index(name) for name in keys]
    groups: dict[str, list[Row]] = {}
    for row in live:
        groups.setdefault(repr([row[at] for at in places]), []).append(row)
    return {
        key: (len(found), *(len({repr(row[at]) for row in found if row[at] is not None}) for at in range(3)))
        for key, found in groups.items()
    }


def images(bench: Bench, kind: RowKind, *row: Any) -> list[tuple[str, Any]]:
    return [(RowKind(change[KIND]).symbol, change["tags"]) for change in bench.step([(kind, row)])]


def test_last_row_of_a_nested_key() -> None:
    bench = Bench(NormaliseOperator(("place",), SCHEMA), SCHEMA)
    assert images(bench, RowKind.UPDATE_AFTER, HERE, [("x", 1)], [1]) == [("+I", [("x", 1)])]
    assert images(bench, RowKind.UPDATE_AFTER, THERE, [], None) == [("+I", [])]
    assert images(bench, RowKind.UPDATE_AFTER, HERE, [("x", 1)], [1]) == []
    assert images(bench, RowKind.UPDATE_AFTER, HERE, [("x", 2)], [1]) == [("+U", [("x", 2)])]
    assert images(bench, RowKind.DELETE, HERE, None, None) == [("-D", [("x", 2)])]


def test_rows_with_maps_that_claim_one_key() -> None:
    for upsert_key in ((), ("ids",)):
        bench = Bench(MaterialiseOperator(("place",), SCHEMA, upsert_key), SCHEMA)
        assert images(bench, RowKind.INSERT, HERE, [("x", 1)], [1]) == [("+I", [("x", 1)])]
        assert images(bench, RowKind.INSERT, HERE, [("y", None)], [2]) == [("+U", [("y", None)])]
        assert images(bench, RowKind.DELETE, HERE, [("y", None)], [2]) == [("+U", [("x", 1)])]
        assert images(bench, RowKind.DELETE, HERE, [("x", 1)], [1]) == [("-D", [("x", 1)])]
