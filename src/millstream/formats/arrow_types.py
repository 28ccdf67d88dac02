"""The Arrow type of each SQL type.

Times and intervals are Flink's numbers: milliseconds of the day, months and milliseconds. Spark cannot pass its own
types for them to Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from millstream.sql.types import DataType, TypeRoot

if TYPE_CHECKING:
    from collections.abc import Iterable

_FIXED: Final = {
    TypeRoot.BOOLEAN: pa.bool_(),
    TypeRoot.TINYINT: pa.int8(),
    TypeRoot.SMALLINT: pa.int16(),
    TypeRoot.INT: pa.int32(),
    TypeRoot.BIGINT: pa.int64(),
    TypeRoot.FLOAT: pa.float32(),
    TypeRoot.DOUBLE: pa.float64(),
    TypeRoot.CHAR: pa.string(),
    TypeRoot.VARCHAR: pa.string(),
    TypeRoot.STRING: pa.string(),
    TypeRoot.BINARY: pa.binary(),
    TypeRoot.VARBINARY: pa.binary(),
    TypeRoot.BYTES: pa.binary(),
    TypeRoot.DATE: pa.date32(),
    TypeRoot.TIME: pa.int32(),
    TypeRoot.TIMESTAMP: pa.timestamp("us"),
    TypeRoot.TIMESTAMP_LTZ: pa.timestamp("us", tz="UTC"),
    TypeRoot.INTERVAL_YEAR_MONTH: pa.int32(),
    TypeRoot.INTERVAL_DAY_TIME: pa.int64(),
    TypeRoot.NULL: pa.null(),
}


def arrow_type(type_: DataType) -> pa.DataType:
    """The Arrow type a column of this SQL type has between decode and encode."""
    match type_.root:
        case TypeRoot.DECIMAL:
            return pa.decimal128(type_.precision, type_.scale)
        case TypeRoot.ARRAY:
            assert type_.element is not None
            return pa.list_(arrow_type(type_.element))
        case TypeRoot.MAP:
            assert type_.key is not None
            assert type_.element is not None
            return pa.map_(arrow_type(type_.key), arrow_type(type_.element))
        case TypeRoot.MULTISET:
            assert type_.element is not None
            return pa.map_(arrow_type(type_.element), pa.int32())
        case TypeRoot.ROW:
            return pa.struct([pa.field(field.name, arrow_type(field.type)) for field in type_.fields])
        case root:
            return _FIXED[root]


def arrow_schema(columns: Iterable[tuple[str, DataType]]) -> pa.Schema:
    return pa.schema([pa.field(name, arrow_type(type_)) for name, type_ in columns])
