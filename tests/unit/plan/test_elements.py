"""The elements of arrays, maps and multisets, against plain Python."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.plan.operators.unnest import PartKind
from millstream.plan.vectorised.elements import elements_of

ELEMENT, FIELD, KEY, VALUE, ORDINALITY = PartKind
numbers = st.one_of(st.none(), st.lists(st.one_of(st.none(), st.integers(-3, 3)), max_size=4))
ROW = pa.struct([("a.b", pa.int32()), ("c", pa.string())])
structs = st.one_of(
    st.none(),
    st.lists(
        st.one_of(st.none(), st.fixed_dictionaries({"a.b": st.integers(0, 3), "c": st.sampled_from(["x", None])})),
        max_size=3,
    ),
)
counts = st.one_of(
    st.none(), st.dictionaries(st.sampled_from("abc"), st.integers(0, 3), max_size=3).map(lambda m: list(m.items()))
)
Rows = list[tuple[int, Any, int | None]]


def found(array: pa.Array, kinds: list[PartKind], field: str = "", *, keeps: bool, multiset: bool = False) -> Rows:
    elements = elements_of(array, is_multiset=multiset, keeps_rows=keeps)
    columns = [elements.part(kind, field, 0, len(elements)).to_pylist() for kind in kinds]
    return list(zip(elements.rows.tolist(), *columns, strict=True))


def expected(lists: list[list[Any] | None], *, keeps: bool) -> Rows:
    made: Rows = []
    for number, values in enumerate(lists):
        made += [(number, value, at) for at, value in enumerate(values or (), 1)]
        if keeps and not values:
            made.append((number, None, None))
    return made


@given(lists=st.lists(numbers, max_size=6), cut=st.integers(0, 3), keeps=st.booleans())
def test_arrays(lists: list[list[int | None] | None], cut: int, *, keeps: bool) -> None:
    array = pa.array(lists, pa.list_(pa.int32())).slice(cut)
    assert found(array, [ELEMENT, ORDINALITY], keeps=keeps) == expected(lists[cut:], keeps=keeps)


@given(lists=st.lists(structs, max_size=6), cut=st.integers(0, 3), keeps=st.booleans())
def test_a_field_of_a_row_that_is_null_is_null(lists: Any, cut: int, *, keeps: bool) -> None:
    array = pa.array(lists, pa.list_(ROW)).slice(cut)
    for name in ("a.b", "c"):
        of_field = [
            None if rows is None else [None if row is None else row[name] for row in rows] for rows in lists[cut:]
        ]
        assert found(array, [FIELD, ORDINALITY], name, keeps=keeps) == expected(of_field, keeps=keeps)


@given(maps=st.lists(counts, max_size=6), cut=st.integers(0, 3), keeps=st.booleans())
def test_maps_and_multisets(maps: list[list[tuple[str, int]] | None], cut: int, *, keeps: bool) -> None:
    array = pa.array(maps, pa.map_(pa.string(), pa.int32())).slice(cut)
    for kind, at in ((KEY, 0), (VALUE, 1)):
        of_kind = [None if pairs is None else [pair[at] for pair in pairs] for pairs in maps[cut:]]
        assert found(array, [kind, ORDINALITY], keeps=keeps) == expected(of_kind, keeps=keeps)
    repeated = [None if pairs is None else [key for key, n in pairs for _ in range(n)] for pairs in maps[cut:]]
    assert found(array, [ELEMENT, ORDINALITY], keeps=keeps, multiset=True) == expected(repeated, keeps=keeps)


@pytest.mark.parametrize("keeps", [False, True])
def test_elements_behind_a_null_are_not_there(*, keeps: bool) -> None:
    array = pa.ListArray.from_arrays(pa.array([0, 2, 3]), pa.array([1, 2, 3]), mask=pa.array([True, False]))
    assert found(array, [ELEMENT, ORDINALITY], keeps=keeps) == expected([None, [3]], keeps=keeps)
