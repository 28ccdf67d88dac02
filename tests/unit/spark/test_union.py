"""UNION ALL of rows that stay in Python: each input has the columns, kinds and splits of the union."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import ByteType, IntegerType, LongType, StringType, StructField, StructType

from millstream.changelog import KIND
from millstream.plan.operators.node import OutputColumn
from millstream.plan.operators.union import Union
from millstream.source import SourceText
from millstream.spark.python_rows import ColumnUse, prepare_columns
from millstream.spark.python_stage import PythonStage, UnitedRows
from millstream.spark.splits import SPLIT, run_beside_task
from millstream.spark.union import unite
from millstream.sql.types import INT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.types import DataType

SPAN = SourceText("s", "x").span(0, 1)
INSERTS = pa.record_batch({"b": ["x"], "a": pa.array([1], pa.int32()), SPLIT: pa.array([3], pa.int32())})
CHANGES = pa.record_batch({"a": pa.array([2], pa.int32()), KIND: pa.array([3], pa.int8()), SPLIT: ["0-t-1"]})


def union_of(number: int) -> Union:
    return Union((), (OutputColumn("a", INT),), SPAN, f"union-{number}")


def stage_of(**columns: DataType) -> PythonStage:
    return PythonStage(None, StructType([StructField(name, type_) for name, type_ in columns.items()]))


def rows_of(side: PythonStage, batch: pa.RecordBatch) -> list[dict[str, object]]:
    assert side.step is not None
    [found] = side.step(iter([batch]))
    assert found.schema.names == side.columns
    rows: list[dict[str, object]] = found.to_pylist()
    return rows


def test_sides_have_the_same_columns_and_their_own_splits() -> None:
    inserts = stage_of(b=StringType(), a=IntegerType(), __split=IntegerType())
    changes = stage_of(a=IntegerType(), __kind=ByteType(), __split=StringType())
    inner = unite([inserts], union_of(1), has_kinds=False, has_splits=True)
    united = unite([inner, changes], union_of(2), has_kinds=True, has_splits=True)
    left, right = united.sides
    assert left.row_schema == right.row_schema
    assert rows_of(left, INSERTS) == [{"a": 1, KIND: 0, SPLIT: "union-2-0-union-1-0-3"}]
    assert rows_of(right, CHANGES) == [{"a": 2, KIND: 3, SPLIT: "union-2-1-0-t-1"}]


def test_each_side_is_prepared_for_a_kernel() -> None:
    inserts = stage_of(b=StringType(), a=IntegerType(), __split=IntegerType())
    united = unite([inserts, inserts], union_of(1), has_kinds=False, has_splits=False)
    prepared = prepare_columns(united, [ColumnUse("a", "argument0", LongType())])
    assert isinstance(prepared, UnitedRows)
    assert [rows_of(side, INSERTS)[0]["argument0"] for side in prepared.sides] == [1, 1]


def test_rows_behind_an_exchange_have_the_split_of_their_task() -> None:
    """Whatever the step makes of its batches, and if the first of them is empty."""

    def at_the_end(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        count = sum(batch.num_rows for batch in batches)
        yield pa.record_batch({"n": [count]})

    packets = pa.record_batch({"__task": pa.array([4, 4], pa.int32())})
    [found] = run_beside_task(at_the_end, "i1-", iter([packets.slice(0, 0), packets]))
    assert found.to_pylist() == [{"n": 2, SPLIT: "i1-4"}]
