"""The rows of a table that is written, before they become messages: which are left, and in which tasks."""

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
    """`drops_nulls`: a row with NULL where the table has NOT NULL is left out; else it fails when it is encoded."""
    if sink.ignore_retraction:
        rows = rows.where(~is_retraction(rows))
    if drops_nulls:
        rows = rows.where(_is_complete(rows, sink))
    return rows


def _is_complete(rows: Rows, sink: KafkaSink) -> Column:
    """Only what is written counts: a row retracted by its key alone may lack the rest."""
    always = _present((*sink.key_columns, *(use.column for use in sink.metadata)))
    value = _present(sink.value_columns)
    by_key_alone = sink.value_format.changelog == INSERT_ONLY
    return always & (is_retraction(rows) | value if by_key_alone else value)


def _present(columns: Iterable[PhysicalColumn | MetadataColumn]) -> Column:
    required = (F.col(quote_name(column.name)).isNotNull() for column in columns if not column.type.nullable)
    return reduce(and_, required, F.lit(True))


def repartition(rows: DataFrame, sink: KafkaSink, pinned_tasks: int | None) -> DataFrame:
    """Over as many tasks as 'sink.parallelism' says, the rows of a key in one of them and in their order.

    Exactly once, a batch that is done again must spread its rows as before: those of files go by their file, over
    `pinned_tasks`, whatever number of cores there is now.
    """
    if sink.parallelism is None:
        if pinned_tasks is None or not is_of_files(rows):
            return rows
        return rows.repartition(pinned_tasks, file_of(F.col(SPLIT))).drop(SPLIT)
    rows = rows.drop(SPLIT)
    keys, tasks = sink.exchange_keys, sink.parallelism
    if not keys and sink.is_exactly_once:
        # One after the other would depend on the number of the task, which differs when a batch is done again.
        keys = tuple(field.name for field in rows.schema if "map<" not in field.dataType.simpleString())
        tasks = tasks if keys else 1  # Spark has no hash of a map
    return rows.repartition(tasks, *(F.col(quote_name(name)) for name in keys))
