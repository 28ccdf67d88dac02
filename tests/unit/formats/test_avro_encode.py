"""The encoder of binary Avro, against fastavro on random rows, and on what lies at its boundaries."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.formats.arrow_types import arrow_schema
from millstream.formats.avro_binary import AvroData, data_of
from millstream.formats.avro_encode import AvroEncoder
from millstream.formats.avro_schema import avro_schema
from millstream.sql.types import BIGINT, BYTES, INT, STRING, DataType, Field, TypeRoot, decimal
from tests.unit.formats.conformance.reading import parse_columns
from tests.unit.formats.conformance.written_values import ALL, NEWER_AVRO, Written
from tests.unit.formats.random_rows import INTS, PAIR, SCALARS, tables, values

if TYPE_CHECKING:
    from collections.abc import Iterable

Columns = tuple[tuple[str, DataType], ...]
LISTS: Final = DataType(TypeRoot.ARRAY, element=INTS)
ROWS: Final = DataType(TypeRoot.ARRAY, element=PAIR)
NESTED_ROW: Final = DataType(TypeRoot.ROW, fields=(Field("p", PAIR), Field("l", INTS), Field("n", BIGINT.not_null())))
MAP: Final = DataType(TypeRoot.MAP, key=STRING, element=PAIR)
MULTISET: Final = DataType(TypeRoot.MULTISET, element=STRING)
ALL_TYPES: Final = {**SCALARS, "big": decimal(38, 10), "ai": INTS, "al": LISTS, "ar": ROWS, "ro": PAIR}


def written_by_fastavro(table: pa.Table, columns: Columns) -> list[bytes]:
    data = AvroData(avro_schema(columns, legacy_timestamps=False))
    return [data.write(datum) for datum in data_of(table, columns)]


def table_of(columns: Columns, rows: Iterable[Iterable[object]]) -> pa.Table:
    arrays = [
        pa.array(column, field.type)
        for column, field in zip(zip(*rows, strict=True), arrow_schema(columns), strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(columns))


@pytest.mark.parametrize("case", [*(case for case in ALL if case.avro), *NEWER_AVRO], ids=str)
def test_writes_the_bytes_of_flink(case: Written) -> None:
    columns = parse_columns(f"v {case.type}")
    table = table_of(columns, [[case.value]])
    assert AvroEncoder(columns).encode(table)[0].as_py().hex() == case.avro


@given(tables(ALL_TYPES))
def test_random_rows(drawn: tuple[Columns, pa.Table]) -> None:
    columns, table = drawn
    assert AvroEncoder(columns).encode(table).to_pylist() == written_by_fastavro(table, columns)


@given(st.lists(st.none() | st.dictionaries(st.text(max_size=3), st.none() | values(PAIR), max_size=3), min_size=1))
def test_random_maps(maps: list[dict[str, object] | None]) -> None:
    columns = (("m", MAP), ("c", MULTISET))
    counts = [None if each is None else dict.fromkeys(each, 7) for each in maps]
    pairs = [[None if each is None else list(each.items()) for each in row] for row in zip(maps, counts, strict=True)]
    table = table_of(columns, pairs)
    assert AvroEncoder(columns).encode(table).to_pylist() == written_by_fastavro(table, columns)


def test_numbers_at_each_length() -> None:
    columns = (("n", BIGINT.not_null()), ("d", decimal(38, 0)))
    powers = [sign * (2**bits + more) for bits in range(63) for sign in (1, -1) for more in (-1, 0, 1)]
    longs = [*powers, 2**63 - 1, -(2**63)]
    wide = [*longs, *(sign * 10**digits for digits in range(38) for sign in (1, -1))]
    rows = [(longs[i % len(longs)], Decimal(number)) for i, number in enumerate(wide)]
    table = table_of(columns, rows)
    assert AvroEncoder(columns).encode(table).to_pylist() == written_by_fastavro(table, columns)


def test_slices_and_chunks_of_many_rows() -> None:
    """Arrays with an offset, NULLs before it, and lists whose elements do not begin at zero."""
    columns = (("n", INT), ("s", STRING), ("b", BYTES), ("l", LISTS), ("r", NESTED_ROW), ("d", decimal(20, 2)))
    random = np.random.default_rng(5)

    def row(i: int) -> list[object]:
        text = None if i % 7 == 0 else "ä" * int(random.integers(0, 200))
        lists = None if i % 5 == 0 else [[i, None, -i], None, []][: i % 4]
        inner = None if i % 6 == 0 else {"p": None if i % 4 else {"x": i, "y": text}, "l": [i], "n": i}
        return [None if i % 3 else i, text, text and text.encode()[: i % 9], lists, inner, Decimal(i - 500) / 4]

    whole = table_of(columns, map(row, range(3000)))
    cut = pa.concat_tables([whole.slice(7, 1201), whole.slice(2001)])
    assert AvroEncoder(columns).encode(cut).to_pylist() == written_by_fastavro(cut, columns)


def test_no_rows_and_no_columns() -> None:
    columns = (("l", LISTS), ("s", STRING), ("m", MAP), ("r", NESTED_ROW))
    assert len(AvroEncoder(columns).encode(table_of(columns, [[None] * 4])[:0])) == 0
    struct = pa.StructArray.from_arrays([], [], mask=pa.array([False, False]))
    assert AvroEncoder(()).encode(pa.Table.from_struct_array(struct)).to_pylist() == [b"", b""]


def test_null_where_the_type_allows_none() -> None:
    columns = (("r", NESTED_ROW),)
    inside = {"p": None, "l": None, "n": None}
    with pytest.raises(ValueError, match="NOT NULL"):
        AvroEncoder(columns).encode(table_of(columns, [[None], [inside]]))
