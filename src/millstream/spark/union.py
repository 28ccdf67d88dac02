"""UNION ALL: the rows of several DataFrames, which stay distinguishable where a repeated batch depends on it."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import KIND, RowKind
from millstream.spark.splits import SPLIT, file_of, is_of_files
from millstream.spark.types import quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from millstream.plan.operators.union import Union


def union(inputs: Sequence[DataFrame], node: Union, *, has_kinds: bool, pinned_tasks: int | None) -> DataFrame:
    """`pinned_tasks` is the number of tasks for rows of files that must reach the same task in a repeated batch."""
    branches = [
        _branch(rows, node, f"{node.id}-{number}-", has_kinds=has_kinds, pinned_tasks=pinned_tasks)
        for number, rows in enumerate(inputs)
    ]
    return reduce(DataFrame.union, branches)


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
