"""Hashes of rows: Spark's documented one, and those of any rows cut into any pieces."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernels.hashing import hash_rows

VALUES = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.string(): st.text(max_size=80),
    pa.list_(pa.int32()): st.lists(st.none() | st.integers(-9, 9), max_size=5),
    pa.struct([("a", pa.string()), ("b", pa.float64())]): st.fixed_dictionaries(
        {"a": st.none() | st.text(max_size=3), "b": st.none() | st.floats()}
    ),
    pa.map_(pa.string(), pa.int32()): st.lists(st.tuples(st.text(max_size=3), st.none() | st.integers(0, 9))),
    pa.decimal128(38, 2): st.decimals(-(10**30), 10**30, places=2),
}


def test_hash_is_the_one_that_spark_documents() -> None:
    columns = [pa.array(["Spark"]), pa.array([[123]], pa.list_(pa.int32())), pa.array([2], pa.int32())]
    assert hash_rows(columns, 1).to_pylist() == [5602566077635097486]


def test_without_columns_all_rows_are_alike() -> None:
    assert hash_rows([], 3).to_pylist() == [0, 0, 0]


@given(st.data(), st.sampled_from(list(VALUES)), st.integers(0, 9))
def test_a_row_has_its_hash_wherever_it_is(data: st.DataObject, type_: pa.DataType, cut: int) -> None:
    values = pa.array(data.draw(st.lists(st.none() | VALUES[type_], max_size=9)), type_)
    whole = hash_rows([values], len(values)).to_pylist()
    pieces = [values.slice(0, cut), values.slice(cut)]
    assert [found for piece in pieces for found in hash_rows([piece], len(piece)).to_pylist()] == whole
    assert hash_rows([pa.chunked_array(pieces, type_)], len(values)).to_pylist() == whole
    one_by_one = [hash_rows([pa.array([value], type_)], 1)[0].as_py() for value in values.to_pylist()]
    assert one_by_one == whole


@given(st.lists(st.none() | st.text(max_size=40), min_size=1, max_size=5), st.integers(0, 3), st.integers(0, 600))
def test_texts_that_repeat_have_the_hashes_of_single_ones(texts: list[str | None], skipped: int, nulls: int) -> None:
    """Also where later ones differ, and where there are none."""
    values = [None] * nulls + texts * 500 + [str(number) for number in range(700)]
    column = pa.array(values, pa.string()).slice(skipped)
    single = {text: hash_rows([pa.array([text], pa.string())], 1)[0].as_py() for text in set(values)}
    assert hash_rows([column], len(column)).to_pylist() == [single[text] for text in values[skipped:]]
    numbers = pa.array(range(len(column)), pa.int64())
    both = hash_rows([column, numbers], len(column)).to_pylist()
    assert both[:3] == hash_rows([column.slice(0, 3), numbers.slice(0, 3)], 3).to_pylist()
