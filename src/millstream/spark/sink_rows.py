"""Prepares the rows of a sink before they become messages: which rows remain, and in which tasks."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import INSERT_ONLY
from millstream.spark.changelog import is_retraction
from millstream.spark.splits import SPLIT, file_of, is_of_files
from millstream.spark.types import quote_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

    from millstream.connectors.kafka.tables import KafkaSink
    from millstream.spark.python_stage import Rows
    from millstream.sql.statements import MetadataColumn, PhysicalColumn


def drop_null_rows(rows: Rows, sink: KafkaSink, *, drops_nulls: bool) -> Rows:
    """`drops_nulls` drops rows with NULL in a NOT NULL column; otherwise the job fails when they are encoded."""
    if sink.ignore_retraction:
        rows = rows.where(~is_retraction(rows))
    if drops_nulls:
        rows = rows.where(_is_complete(rows, sink))
    return rows


def _is_complete(rows: Rows, sink: KafkaSink) -> Column:
    """Only columns that are written count: a row retracted by its key alone may lack the others."""
    always = _present((*sink.key_columns, *(use.column for use in sink.metadata)))
    value = _present(sink.value_columns)
    by_key_alone = sink.value_format.changelog == INSERT_ONLY
    return always & (is_retraction(rows) | value if by_key_alone else value)


def _present(columns: Iterable[PhysicalColumn | MetadataColumn]) -> Column:
    required = (F.col(quote_name(column.name)).isNotNull() for column in columns if not column.type.nullable)
    return reduce(and_, required, F.lit(True))


def repartition(rows: DataFrame, sink: KafkaSink, pinned_tasks: int | None) -> DataFrame:
    """Spreads rows over as many tasks as 'sink.parallelism' says, the rows of a key in one task and in order.

    For exactly-once, a repeated batch must spread its rows as before: rows of files go by their file, over
    `pinned_tasks`, whatever the number of cores is now.
    """
    if sink.parallelism is None:
        if pinned_tasks is None or not is_of_files(rows):
            return rows
        return rows.repartition(pinned_tasks, file_of(F.col(SPLIT))).drop(SPLIT)
    rows = rows.drop(SPLIT)
    keys, tasks = sink.exchange_keys, sink.parallelism
    if not keys and sink.is_exactly_once:
        # Round-robin would depend on the number of the task, which differs when a batch is repeated.
        keys = tuple(field.name for field in rows.schema if "map<" not in field.dataType.simpleString())
        tasks = tasks if keys else 1  # Spark cannot hash maps
    return rows.repartition(tasks, *(F.col(quote_name(name)) for name in keys))
