"""UNION ALL: the rows of several inputs, which stay distinguishable where a repeated batch depends on it."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ByteType, StructField, StructType

from millstream.changelog import KIND, RowKind
from millstream.spark.python_rows import ColumnUse, select_in_python
from millstream.spark.python_stage import PythonStage, UnitedRows
from millstream.spark.splits import SPLIT, file_of, is_of_files, number_by_task, prefix_splits
from millstream.spark.types import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column

    from millstream.plan.operators.union import Union


def union(inputs: Sequence[DataFrame], node: Union, *, has_kinds: bool, pinned_tasks: int | None) -> DataFrame:
    """`pinned_tasks` is the number of tasks for rows of files that must reach the same task in a repeated batch."""
    branches = [
        _branch(rows, node, f"{node.id}-{number}-", has_kinds=has_kinds, pinned_tasks=pinned_tasks)
        for number, rows in enumerate(inputs)
    ]
    return reduce(DataFrame.union, branches)


def unite(inputs: Sequence[PythonStage | UnitedRows], node: Union, *, has_kinds: bool, has_splits: bool) -> UnitedRows:
    """The same for rows that stay in Python."""
    sides = [
        _side(side, node, f"{node.id}-{number}-" if has_splits else None, has_kinds=has_kinds)
        for number, rows in enumerate(inputs)
        for side in (rows.sides if isinstance(rows, UnitedRows) else (rows,))
    ]
    return UnitedRows(tuple(sides))


def _side(rows: PythonStage, node: Union, prefix: str | None, *, has_kinds: bool) -> PythonStage:
    schema = rows.row_schema
    if has_kinds and KIND not in schema.names:
        rows = rows.pipe(_add_kinds, StructType([*schema.fields, StructField(KIND, ByteType())]))
    if prefix is not None:
        rows = prefix_splits(rows, prefix) if SPLIT in schema.names else number_by_task(rows, prefix)
    uses = [ColumnUse(column.name, column.name, schema[column.name].dataType) for column in node.output]
    return select_in_python(rows, uses)


def _add_kinds(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.append_column(KIND, pa.repeat(pa.scalar(int(RowKind.INSERT), pa.int8()), batch.num_rows))


def _branch(rows: DataFrame, node: Union, name: str, *, has_kinds: bool, pinned_tasks: int | None) -> DataFrame:
    if pinned_tasks is not None and is_of_files(rows):
        rows = rows.repartition(pinned_tasks, file_of(F.col(SPLIT))).drop(SPLIT)
    columns = [F.col(quote_name(column.name)) for column in node.output]
    if has_kinds:
        columns.append(_kind(rows))
    if pinned_tasks is not None:
        columns.append(F.concat(F.lit(name), _place(rows)).alias(SPLIT))
    return rows.select(*columns)


def _kind(rows: DataFrame) -> Column:
    return F.col(KIND) if KIND in rows.columns else F.lit(int(RowKind.INSERT)).cast("tinyint").alias(KIND)


def _place(rows: DataFrame) -> Column:
    """The split of a row, or else its task: Spark numbers the tasks of all branches of a union consecutively."""
    return F.col(SPLIT).cast("string") if SPLIT in rows.columns else F.spark_partition_id().cast("string")
