"""Each plan node as a step on a streaming DataFrame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import KIND
from millstream.plan.nodes import Aggregate, Filter, Node, Project, Scan, Write
from millstream.spark.aggregate import aggregate
from millstream.spark.expressions import column_of
from millstream.spark.kafka_sink import encode_messages
from millstream.spark.kafka_source import read_rows
from millstream.spark.types import spark_type

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, SparkSession
    from sqlglot import exp

    from millstream.plan.nodes import ProjectItem


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a plan needs from outside to become a DataFrame."""

    spark: SparkSession
    start_offsets: Mapping[str, str]
    """Per source table, where a new job starts: Spark's JSON of offsets."""
    segment_cache: Path
    buckets: int
    max_batch_rows: int


def messages_of(plan: Write, around: Surroundings) -> DataFrame:
    """The plan as a stream of Kafka messages: `key`, if the sink is keyed, and `value`."""
    return encode_messages(_rows_of(plan.input, around), plan.sink)


def _rows_of(node: Node, around: Surroundings) -> DataFrame:
    match node:
        case Scan():
            start = around.start_offsets[node.source.table.name]
            return read_rows(around.spark, node, start, around.max_batch_rows)
        case Filter():
            return _rows_of(node.input, around).where(_column(node.condition, node.input, around))
        case Project():
            rows = _rows_of(node.input, around)
            kind = [F.col(KIND)] if KIND in rows.columns else []
            return rows.select(*(_item(item, node.input, around) for item in node.items), *kind)
        case Aggregate():
            return aggregate(_rows_of(node.input, around), node, around.buckets, around.segment_cache)
        case Write():
            raise AssertionError("a Write is always the root")


def _item(item: ProjectItem, below: Node, around: Surroundings) -> Column:
    column = _column(item.expression, below, around)
    return (column if item.type is None else column.cast(spark_type(item.type))).alias(item.name)


def _column(expression: exp.Expr, below: Node, around: Surroundings) -> Column:
    return column_of(expression, {column.name: column.type for column in below.columns}, around.spark)
