"""Each plan node as a step on a streaming DataFrame."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from millstream.changelog import KIND
from millstream.connectors.kafka.tables import KafkaSource
from millstream.durable_files import JobFile, bounded_name
from millstream.plan.nodes import (
    Aggregate,
    Collect,
    Expand,
    Filter,
    Materialise,
    Node,
    Normalise,
    Operator,
    Project,
    Scan,
    Values,
    Write,
)
from millstream.spark.aggregate import aggregate
from millstream.spark.branch import Branch
from millstream.spark.expressions import column_of
from millstream.spark.kafka_source import read_rows
from millstream.spark.keyed_rows import materialise, normalise
from millstream.spark.local_tables import read_local
from millstream.spark.native_aggregate import native_aggregate
from millstream.spark.once import keep_value, one_row
from millstream.spark.splits import Splits, carried
from millstream.spark.types import quoted, spark_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import Column, SparkSession
    from sqlglot import exp

    from millstream.connectors.kafka.read_range import ReadRange
    from millstream.plan.nodes import OutputColumn, ProjectItem
    from millstream.source import Span
    from millstream.spark.crossing import Crossing, Rows
    from millstream.spark.delivery import Dispatch
    from millstream.spark.kernel_host import Hosting
    from millstream.sql.types import DataType

AnyRows = TypeVar("AnyRows", DataFrame, Branch)


@dataclass(frozen=True, slots=True)
class TranslationContext:
    """What a plan needs from outside to become a DataFrame."""

    spark: SparkSession
    folder: Path
    """The job's own, kept over restarts."""
    positions: Mapping[Span, ReadRange]
    """Per place where topics are read, from where to where."""
    hosting: Hosting
    max_batch_rows: int
    printed: Callable[[list[str]], None]
    """Takes the lines of a print table."""
    partitions_of: Callable[[Mapping[str, str], str], tuple[int, ...]]
    """The partitions of a topic, by the properties of its table; asked by the tasks that choose among them."""
    shown: Callable[[pa.Table, list[int] | None], None]
    """Takes the rows of a SELECT, and their kinds where they are changes."""
    dispatch: Dispatch
    """How messages are delivered that Spark's own sink does not write."""
    scan_numbers: Iterator[int] = field(default_factory=count)
    """Taken as the plan is walked, which is the same way at each start."""
    shared: Mapping[int, DataFrame] = field(default_factory=dict)
    """What leaves the nodes up to which a scan is read together with others, by `id`; of a Write, its messages."""

    def pinned_tasks(self) -> int | None:
        """Over how many tasks rows are spread that must meet the same task again, at whichever start of the job.

        None where nothing is written exactly once. Spark keeps the number of tasks for operators with state alone.
        """
        if not self.dispatch.is_exactly_once:
            return None
        now = self.spark.conf.get("spark.sql.shuffle.partitions") or "1"
        return int(keep_value(self.folder, JobFile.TASKS, r"\d+", lambda: now))


def rows_of(node: Node, around: TranslationContext) -> DataFrame:
    """The rows that leave a node; where they are changes, with their kind beside them."""
    if id(node) in around.shared:
        return around.shared[id(node)]
    match node:
        case Scan():
            return _scanned(node, around)
        case Values():
            return _values(node, around)
        case Filter() | Project():
            return passed(rows_of(node.input, around), node, around)
        case Expand():
            return _expanded(rows_of(node.input, around), node)
        case Aggregate(operator=Operator.NATIVE):
            return native_aggregate(rows_of(node.input, around), node)
        case Aggregate() | Normalise() | Materialise():
            return kept(rows_of(node.input, around), node, around).alone()
        case Write() | Collect():
            return rows_of(node.input, around)


def passed(rows: AnyRows, node: Filter | Project, around: TranslationContext) -> AnyRows:
    """Row by row, without a state."""
    if isinstance(node, Filter):
        return rows.where(_column(node.condition, node.input, around))
    kind = [F.col(KIND)] if KIND in rows.columns else []
    return rows.select(*(_item(item, node.input, around) for item in node.items), *kind, *carried(rows))


def kept(rows: Rows, node: Aggregate | Normalise | Materialise, around: TranslationContext) -> Crossing:
    """On the kernel, with a state."""
    match node:
        case Aggregate():
            return aggregate(rows, node, around.hosting)
        case Normalise():
            return normalise(rows, node, around.hosting)
        case Materialise():
            return materialise(rows, node, around.hosting)


def _scanned(scan: Scan, around: TranslationContext) -> DataFrame:
    match scan.source:
        case KafkaSource():
            splits = Splits.of(next(around.scan_numbers), scan.source) if around.dispatch.is_exactly_once else None
            place = around.positions[scan.span]
            return read_rows(around.spark, scan, scan.source, place, around.max_batch_rows, splits=splits)
        case _:
            folder = around.folder / "sources" / bounded_name(quote(scan.source.table.name, safe=""))
            columns = [column.name for column in scan.columns]
            return read_local(around.spark, scan.source, columns, folder, around.pinned_tasks())


def _expanded(rows: DataFrame, node: Expand) -> DataFrame:
    types = {key: rows.schema[key].dataType for key in node.keys}

    def key_of(key: str, kept: tuple[str, ...]) -> Column:
        return (F.col(quoted(key)) if key in kept else F.lit(None).cast(types[key])).alias(key)

    sets = (
        F.struct(*(key_of(key, kept) for key in node.keys), F.lit(number).alias(node.number))
        for number, kept in enumerate(node.sets)
    )
    others = [F.col(quoted(name)) for name in rows.columns if name not in node.keys]
    return rows.select(*others, F.inline(F.array(*sets)))


def _values(node: Values, around: TranslationContext) -> DataFrame:
    once = one_row(around.spark, around.folder)
    if not node.columns:
        return once
    rows = (zip(row, node.columns, strict=True) for row in node.rows)
    structs = (F.struct(*(_value(value, column, node, around) for value, column in row)) for row in rows)
    return once.select(F.inline(F.array(*structs)))


def _value(value: exp.Expr, column: OutputColumn, node: Values, around: TranslationContext) -> Column:
    written = _column(value, node, around)
    return (written if column.type is None else written.cast(spark_type(column.type))).alias(column.name)


def _item(item: ProjectItem, below: Node, around: TranslationContext) -> Column:
    return _column(item.expression, below, around, item.type).alias(item.name)


def _column(expression: exp.Expr, below: Node, around: TranslationContext, wanted: DataType | None = None) -> Column:
    return column_of(expression, {column.name: column.type for column in below.columns}, around.spark, wanted)
