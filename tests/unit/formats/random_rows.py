"""Random schemas and rows for property tests."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from hypothesis import strategies as st

from millstream.formats.arrow_types import arrow_schema
from millstream.sql.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, DataType, Field, TypeRoot, decimal

if TYPE_CHECKING:
    from collections.abc import Mapping

TINYINT: Final = DataType(TypeRoot.TINYINT)
SMALLINT: Final = DataType(TypeRoot.SMALLINT)
FLOAT: Final = DataType(TypeRoot.FLOAT)
BYTES: Final = DataType(TypeRoot.BYTES)
DATE: Final = DataType(TypeRoot.DATE)
TIME: Final = DataType(TypeRoot.TIME, precision=3)
TIMESTAMP: Final = DataType(TypeRoot.TIMESTAMP, precision=6)
TIMESTAMP_LTZ: Final = DataType(TypeRoot.TIMESTAMP_LTZ, precision=6)
INTS: Final = DataType(TypeRoot.ARRAY, element=INT)
PAIR: Final = DataType(TypeRoot.ROW, fields=(Field("x", BIGINT), Field("y", STRING)))
TEXTS: Final = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=30)
SCALARS: Final = {
    "bo": BOOLEAN, "ti": TINYINT, "sm": SMALLINT, "in": INT, "bi": BIGINT, "fl": FLOAT, "do": DOUBLE,
    "de": decimal(5, 2), "st": STRING, "by": BYTES, "da": DATE, "tm": TIME, "ts": TIMESTAMP, "tz": TIMESTAMP_LTZ,
}  # fmt: skip
_FIRST: Final = datetime(1600, 1, 1)  # noqa: DTZ001
_VALUES: Final[dict[TypeRoot, st.SearchStrategy[Any]]] = {
    TypeRoot.BOOLEAN: st.booleans(),
    TypeRoot.TINYINT: st.integers(-(2**7), 2**7 - 1),
    TypeRoot.SMALLINT: st.integers(-(2**15), 2**15 - 1),
    TypeRoot.INT: st.integers(-(2**31), 2**31 - 1),
    TypeRoot.BIGINT: st.integers(-(2**63), 2**63 - 1),
    TypeRoot.FLOAT: st.floats(width=32, allow_nan=False),
    TypeRoot.DOUBLE: st.floats(allow_nan=False),
    TypeRoot.DECIMAL: st.integers(-99999, 99999).map(lambda unscaled: Decimal(unscaled).scaleb(-2)),
    TypeRoot.STRING: TEXTS,
    TypeRoot.BYTES: st.binary(max_size=20),
    TypeRoot.DATE: st.dates(date(1600, 1, 1)),
    TypeRoot.TIME: st.integers(0, 86_399).map(lambda seconds: seconds * 1000),
    TypeRoot.TIMESTAMP: st.datetimes(_FIRST),
    TypeRoot.TIMESTAMP_LTZ: st.datetimes(_FIRST, timezones=st.just(UTC)),
}


def values(type_: DataType) -> st.SearchStrategy[Any]:
    match type_.root:
        case TypeRoot.ARRAY:
            assert type_.element is not None
            return st.lists(values(type_.element), max_size=3)
        case TypeRoot.ROW:
            return st.fixed_dictionaries({field.name: st.none() | values(field.type) for field in type_.fields})
        case root:
            return _VALUES[root]


@st.composite
def tables(draw: st.DrawFn, types: Mapping[str, DataType]) -> tuple[tuple[tuple[str, DataType], ...], pa.Table]:
    """Some of the columns, and rows for them, with NULLs."""
    names = draw(st.lists(st.sampled_from(list(types)), unique=True, min_size=1, max_size=5))
    columns = tuple((name, types[name]) for name in names)
    size = draw(st.integers(0, 5))
    arrays = [
        pa.array(draw(st.lists(st.none() | values(type_), min_size=size, max_size=size)), field.type)
        for (_, type_), field in zip(columns, arrow_schema(columns), strict=True)
    ]
    return columns, pa.Table.from_arrays(arrays, schema=arrow_schema(columns))


def comparable(table: pa.Table) -> str:
    """Everything there is in a table, comparable even with NaN and far dates in it."""
    for i, field in enumerate(table.schema):
        if pa.types.is_temporal(field.type):
            days_or_micros = pa.int32() if pa.types.is_date(field.type) else pa.int64()
            table = table.set_column(i, field.name, table[field.name].cast(days_or_micros))
    return repr((table.column_names, table.to_pylist()))
