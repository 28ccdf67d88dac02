"""Columns as kernels take them, prepared in Python."""

from __future__ import annotations

import math

import pyarrow as pa
from pyspark.sql.types import BooleanType, ByteType, DoubleType, IntegerType, LongType, StringType, StructField

from millstream.changelog import KIND
from millstream.spark.comparable import kernel_schema
from millstream.spark.python_rows import ColumnUse, select_columns, struct_of


def prepare(batch: pa.RecordBatch, *uses: ColumnUse, beside: tuple[StructField, ...] = ()) -> pa.RecordBatch:
    [found] = select_columns(uses, kernel_schema(struct_of(uses, beside)), iter([batch]))
    return found


def test_columns_are_selected_renamed_and_widened() -> None:
    batch = pa.record_batch({"b": pa.array(["x", None]), "a": pa.array([1, None], pa.int32())})
    found = prepare(batch, ColumnUse("a", "argument0", LongType()), ColumnUse("b", "key0", StringType()))
    assert found.to_pydict() == {"argument0": [1, None], "key0": ["x", None]}
    assert found.schema.field("argument0").type == pa.int64()


def test_minus_zero_is_zero_where_values_are_compared() -> None:
    batch = pa.record_batch({"x": pa.array([-0.0, None, 1.5])})
    [compared, plain] = prepare(
        batch, ColumnUse("x", "a", DoubleType(), is_compared=True), ColumnUse("x", "b", DoubleType())
    ).columns
    assert [math.copysign(1, value.as_py()) for value in (compared[0], plain[0])] == [1, -1]
    assert compared.to_pylist() == [0.0, None, 1.5]


def test_a_condition_that_is_null_is_false() -> None:
    batch = pa.record_batch({"c": pa.array([True, None, False])})
    found = prepare(batch, ColumnUse("c", "filter0", BooleanType(), is_condition=True))
    assert found.column(0).to_pylist() == [True, False, False]


def test_kinds_stay_beside_the_columns() -> None:
    batch = pa.record_batch({"a": pa.array([1], pa.int32()), KIND: pa.array([3], pa.int8())})
    found = prepare(batch, ColumnUse("a", "key0", IntegerType()), beside=(StructField(KIND, ByteType()),))
    assert found.to_pydict() == {"key0": [1], KIND: [3]}
