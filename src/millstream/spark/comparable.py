"""Makes values that SQL considers equal identical, before kernels hash and compare them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DoubleType, FloatType, MapType, StructField, StructType

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column
    from pyspark.sql.types import DataType


def alike(value: Column, type_: DataType) -> Column:
    """Turns minus zero into zero and sorts the entries of a map by key, inside nested values too."""
    match type_:
        case FloatType() | DoubleType():
            return value + F.lit(0.0).cast(type_)
        case StructType() if _has(type_, (FloatType, DoubleType, MapType)):
            fields = (alike(value[field.name], field.dataType).alias(field.name) for field in type_.fields)
            return F.when(value.isNotNull(), F.struct(*fields))
        case ArrayType() if _has(type_, (FloatType, DoubleType, MapType)):
            return F.transform(value, lambda element: alike(element, type_.elementType))
        case MapType():
            keys = F.array_sort(F.map_keys(value))
            found = F.transform(keys, lambda key: alike(F.element_at(value, key), type_.valueType))
            return F.map_from_arrays(keys, found)
        case _:
            return value


def is_comparable_as_it_is(type_: DataType) -> bool:
    """Whether `alike` has nothing to do inside values of the type; minus zero itself is a matter of an addition."""
    return isinstance(type_, FloatType | DoubleType) or not _has(type_, (FloatType, DoubleType, MapType))


def hashable(value: Column, type_: DataType) -> Column:
    """Spark refuses to hash maps, since equal ones may have different hashes. Maps that are `alike` can be hashed."""
    match type_:
        case StructType() if _has(type_, (MapType,)):
            return F.struct(*(hashable(value[field.name], field.dataType) for field in type_.fields))
        case ArrayType() if _has(type_, (MapType,)):
            return F.transform(value, lambda element: hashable(element, type_.elementType))
        case MapType():
            return F.struct(F.map_keys(value), hashable(F.map_values(value), ArrayType(type_.valueType)))
        case _:
            return value


def kernel_schema(schema: StructType) -> pa.Schema:
    """Kernels store a row as one value, and every column of a deleted row is NULL."""
    return to_arrow_schema(_nullable(schema), timezone="UTC")


def _nullable(row: StructType) -> StructType:
    return StructType([StructField(field.name, _nullable_inside(field.dataType)) for field in row.fields])


def _nullable_inside(type_: DataType) -> DataType:
    match type_:
        case StructType():
            return _nullable(type_)
        case ArrayType():
            return ArrayType(_nullable_inside(type_.elementType))
        case MapType():
            return MapType(_nullable_inside(type_.keyType), _nullable_inside(type_.valueType))
        case _:
            return type_


def _has(type_: DataType, wanted: tuple[type[DataType], ...]) -> bool:
    """`wanted` are scalars or maps: a map is found at any depth, whatever it contains."""
    match type_:
        case StructType():
            return any(_has(field.dataType, wanted) for field in type_.fields)
        case ArrayType():
            return _has(type_.elementType, wanted)
        case MapType():
            return True
        case _:
            return isinstance(type_, wanted)
