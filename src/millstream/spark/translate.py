"""Translates each node of a physical plan to a step on a streaming DataFrame; no decisions are made here."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from millstream.changelog import KIND
from millstream.connectors.kafka.tables import KafkaSource
from millstream.connectors.local.tables import DatagenSource, FilesystemSource
from millstream.durable_files import JobFile, shorten_name
from millstream.kernels.watermark import TimeSource
from millstream.plan.operators.aggregate import Aggregate
from millstream.plan.operators.assign_sessions import AssignSessions
from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.assign_windows import AssignWindows
from millstream.plan.operators.expand import Expand
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.interval_join import IntervalJoin
from millstream.plan.operators.join import Join
from millstream.plan.operators.lookup import Lookup
from millstream.plan.operators.materialise import Materialise
from millstream.plan.operators.normalise import Normalise
from millstream.plan.operators.over import Over
from millstream.plan.operators.project import Project
from millstream.plan.operators.rank import Rank
from millstream.plan.operators.scan import Scan
from millstream.plan.operators.set_operation import SetOperation
from millstream.plan.operators.temporal_join import TemporalJoin
from millstream.plan.operators.union import Union
from millstream.plan.operators.unnest import Unnest
from millstream.plan.operators.values import Values
from millstream.plan.operators.window_aggregate import WindowAggregate
from millstream.plan.operators.window_join import WindowJoin
from millstream.plan.operators.window_rank import WindowRank
from millstream.plan.physical.event_time import time_inputs
from millstream.plan.physical.nodes import Execution
from millstream.plan.vectorised.forms import vectorise
from millstream.spark.aggregate import aggregate
from millstream.spark.event_time import EVENT_TIME, drop_splits, note_times, take_times
from millstream.spark.expressions import column_of
from millstream.spark.interval_join import join_in_time
from millstream.spark.join import join
from millstream.spark.kafka_source import read_rows
from millstream.spark.kernel_stage import TimeFlow
from millstream.spark.keyed_rows import materialise, normalise
from millstream.spark.local_tables import read_local
from millstream.spark.lookup import content_of, look_up
from millstream.spark.once import keep_value, one_row
from millstream.spark.over import over
from millstream.spark.python_rows import filter_in_python, project_in_python
from millstream.spark.python_stage import PythonStage, UnitedRows
from millstream.spark.rank import rank
from millstream.spark.set_operation import combine_sides
from millstream.spark.shared_rows import SharedRows
from millstream.spark.splits import SPLIT, Splits, split_columns
from millstream.spark.temporal_join import join_versions
from millstream.spark.types import quote_name, spark_type
from millstream.spark.union import union, unite
from millstream.spark.unnest import unnest, unnest_in_python
from millstream.spark.windows import assign_sessions, assign_windows, window_aggregate, window_join, window_rank

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import Column, SparkSession

    from millstream.connectors.kafka.read_range import ReadRange
    from millstream.plan.physical.nodes import PhysicalNode
    from millstream.spark.delivery import Dispatch
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.lookup_content import LookupContent
    from millstream.spark.lookup_upkeep import LookedUpTable
    from millstream.spark.python_stage import InputRows
    from millstream.spark.ticks import Ticks

AnyRows = TypeVar("AnyRows", DataFrame, SharedRows)


@dataclass(frozen=True, slots=True)
class TranslationContext:
    """What a plan needs from outside to become a DataFrame."""

    spark: SparkSession
    folder: Path
    """The job's own folder, which survives restarts."""
    positions: Mapping[str, ReadRange]
    """The range to read, by the id of a scan of topics."""
    kernel_settings: KernelSettings
    max_batch_rows: int
    printed: Callable[[list[str]], None]
    """Receives the lines of a print table."""
    partitions_of: Callable[[Mapping[str, str], str], tuple[int, ...]]
    """The partitions of a topic, by the properties of its table; called by the tasks that choose among them."""
    shown: Callable[[pa.Table, list[int] | None], None]
    """Receives the rows of a SELECT, and their kinds if they are changes."""
    dispatch: Dispatch
    """How messages are delivered that Spark's own sink does not write."""
    scan_numbers: Mapping[str, int] = field(default_factory=dict)
    """The numbers of scans of topics, by their ids: the same at each start."""
    keeps_partitions_apart: bool = False
    """Whether a task may read one partition of a topic only."""
    reading_tasks: int | None = None
    """Over how many tasks the partitions of a topic are spread; None if that must not depend on the machine."""
    ticks: Ticks | None = None
    """None in jobs that began without them."""
    reads_nothing: bool = False
    """Whether there is nothing left to do but to end event time."""
    lookups: dict[str, LookedUpTable] = field(default_factory=dict)
    """The tables that rows are looked up in, by the ids of their operators."""
    timed_scans: frozenset[str] = frozenset()
    """The ids of scans of topics whose rows say how far event time has come."""
    shared: Mapping[PhysicalNode, DataFrame | PythonStage] = field(default_factory=dict)
    """The output of nodes up to which a scan is read together with others; for a Write, its messages."""

    def lookup_content(self, node: Lookup) -> LookupContent:
        """One for all inputs of a union, so that workers keep the rows of the table once."""
        if node.id not in self.lookups:
            self.lookups[node.id] = content_of(node, self.spark, self.folder)
        return self.lookups[node.id].content

    def settings_of(self, node: PhysicalNode) -> KernelSettings:
        """Those of the kernels of one operator."""
        if not node.carries_time:
            return self.kernel_settings
        sources = (
            TimeSource(each.id, round(each.idle_timeout.total_seconds() * 1000), each.is_operator)
            for each in time_inputs(node)
        )
        return replace(self.kernel_settings, time=TimeFlow(tuple(sources), is_told=node.tells_time))

    def pinned_tasks(self) -> int | None:
        """The number of tasks for rows that must reach the same task again, at whichever start of the job.

        None where nothing is written exactly once.
        """
        if not self.dispatch.is_exactly_once:
            return None
        return int(keep_value(self.folder, JobFile.TASKS, r"\d+", lambda: str(shuffle_partitions(self.spark))))


def shuffle_partitions(spark: SparkSession) -> int:
    """Over how many tasks this session spreads rows behind an exchange."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def frame_of(node: PhysicalNode, context: TranslationContext) -> DataFrame:
    """The rows of a node, back from Python."""
    rows = rows_of(node, context)
    return rows if isinstance(rows, DataFrame) else rows.to_frame()


def rows_of(node: PhysicalNode, context: TranslationContext) -> DataFrame | PythonStage | UnitedRows:
    """The output of a node; if the rows are changes, with their kind in a column."""
    if node in context.shared:
        return context.shared[node]
    match node.execution:
        case Execution.SOURCE:
            return _read(node.operator, context)
        case Execution.SINK:
            return rows_of(node.inputs[0], context)
        case Execution.KERNEL:
            inputs = [rows_of(below, context) for below in node.inputs]
            return reach_kernel(stateful_step(inputs, node, context), context)
        case Execution.PYTHON:
            return _stay_in_python([rows_of(below, context) for below in node.inputs], node, context)
        case Execution.SPARK:
            return _stateless(node, context)


def reach_kernel(packing: PythonStage, context: TranslationContext) -> PythonStage:
    """What a kernel makes of packets, and of ticks."""
    reached = packing if context.ticks is None else context.ticks.reach(packing, context.kernel_settings)
    return reached.behind_exchange()


def _stateless(node: PhysicalNode, context: TranslationContext) -> DataFrame | PythonStage:
    inputs = [frame_of(below, context) for below in node.inputs]
    match node.operator:
        case AssignWatermark() as operator:
            return _take_watermark(inputs[0], operator, context)
        case Expand() as operator:
            return _expand(inputs[0], operator)
        case Unnest() as operator:
            return unnest(inputs[0], operator)
        case Union() as operator:
            return union(inputs, operator, has_kinds=node.has_kinds, pinned_tasks=context.pinned_tasks())
        case _:
            return stateless_step(inputs[0], node, context)


def _stay_in_python(
    inputs: Sequence[DataFrame | PythonStage | UnitedRows], node: PhysicalNode, context: TranslationContext
) -> PythonStage | UnitedRows:
    in_python = [PythonStage(rows, rows.schema) if isinstance(rows, DataFrame) else rows for rows in inputs]
    if isinstance(node.operator, Union):
        has_splits = context.dispatch.is_exactly_once
        return unite(in_python, node.operator, has_kinds=node.has_kinds, has_splits=has_splits)
    [rows] = in_python
    assert isinstance(rows, PythonStage)
    if isinstance(node.operator, Lookup):
        return look_up(rows, node.operator, context.lookup_content(node.operator))
    return python_step(rows, node, context)


def _take_watermark(rows: DataFrame, node: AssignWatermark, context: TranslationContext) -> PythonStage:
    """Spark computes it, beside the columns of each row."""
    computed = rows.withColumn(EVENT_TIME, column_of(node.expression, context.spark))
    return _in_time(PythonStage(computed, rows.schema, partial(take_times, node.scan_id)), context)


def _in_time(rows: PythonStage, context: TranslationContext) -> PythonStage:
    """The rows behind the step that has noted their times; only what is written exactly once needs splits above it."""
    rows = replace(rows, notes_time=True)
    if SPLIT not in rows.columns or context.dispatch.is_exactly_once:
        return rows
    kept = StructType([field for field in rows.row_schema.fields if field.name != SPLIT])
    return rows.pipe(drop_splits, kept)


def python_step(rows: PythonStage, node: PhysicalNode, context: TranslationContext) -> PythonStage:
    """Row by row, on rows that stay in Python."""
    match node.operator:
        case AssignWatermark() as operator:
            step = partial(note_times, operator.scan_id, vectorise(operator.expression))
            return _in_time(rows.pipe(step, rows.schema), context)
        case Filter() as operator:
            return filter_in_python(rows, operator)
        case Unnest() as operator:
            return unnest_in_python(rows, operator)
        case AssignWindows() as operator:
            return assign_windows(rows, operator)
        case operator:
            assert isinstance(operator, Project)
            return project_in_python(rows, operator)


def stateless_step(rows: AnyRows, node: PhysicalNode, context: TranslationContext) -> AnyRows:
    """Filter and Project: row by row, without state."""
    operator = node.operator
    if isinstance(operator, Filter):
        return rows.where(column_of(operator.condition, context.spark))
    assert isinstance(operator, Project)
    items = (column_of(item.expression, context.spark, item.type).alias(item.name) for item in operator.items)
    kind = [F.col(KIND)] if node.has_kinds else []
    return rows.select(*items, *kind, *split_columns(rows))


def stateful_step(inputs: Sequence[InputRows], node: PhysicalNode, context: TranslationContext) -> PythonStage:
    """On the kernel, with state."""
    context = replace(context, kernel_settings=context.settings_of(node))
    if len(inputs) > 1:
        left, right = inputs
        return _step_of_two(left, right, node, context.kernel_settings)
    match node.operator:
        case Aggregate() as operator:
            return aggregate(inputs[0], operator, context.kernel_settings)
        case WindowAggregate() as operator:
            return window_aggregate(inputs[0], operator, context.kernel_settings)
        case Normalise() as operator:
            return normalise(inputs[0], operator, context.kernel_settings)
        case Materialise() as operator:
            return materialise(inputs[0], operator, context.kernel_settings)
        case AssignSessions() as operator:
            return assign_sessions(inputs[0], operator, context.kernel_settings)
        case WindowRank() as operator:
            return window_rank(inputs[0], operator, context.kernel_settings)
        case Rank() as operator:
            return rank(inputs[0], operator, context.kernel_settings, has_kinds=node.has_kinds)
        case Over() as operator:
            return over(inputs[0], operator, context.kernel_settings, has_kinds=node.has_kinds)
        case operator:
            raise AssertionError(f"no kernel runs {type(operator).__name__}")


def _step_of_two(left: InputRows, right: InputRows, node: PhysicalNode, settings: KernelSettings) -> PythonStage:
    match node.operator:
        case WindowJoin() as operator:
            return window_join(left, right, operator, settings)
        case Join() as operator:
            return join(left, right, operator, settings, has_kinds=node.has_kinds)
        case IntervalJoin() as operator:
            return join_in_time(left, right, operator, settings, has_kinds=node.has_kinds)
        case TemporalJoin() as operator:
            return join_versions(left, right, operator, settings, has_kinds=node.has_kinds)
        case SetOperation() as operator:
            return combine_sides(left, right, operator, settings)
        case operator:
            raise AssertionError(f"no kernel runs {type(operator).__name__}")


def _read(operator: object, context: TranslationContext) -> DataFrame | PythonStage:
    match operator:
        case Scan(source=KafkaSource() as source):
            number = context.scan_numbers[operator.id]
            is_exactly_once = context.dispatch.is_exactly_once
            needs_splits = is_exactly_once or operator.id in context.timed_scans
            place = context.positions[operator.id]
            return read_rows(
                context.spark,
                operator,
                source,
                place,
                context.max_batch_rows,
                splits=Splits.of(number, source) if needs_splits else None,
                folder=context.folder,
                keeps_apart=context.keeps_partitions_apart or is_exactly_once,
                tasks=context.reading_tasks,
                reads_nothing=context.reads_nothing,
            )
        case Scan(source=DatagenSource() | FilesystemSource() as source):
            folder = context.folder / "sources" / shorten_name(quote(source.table.name, safe=""))
            columns = [column.name for column in operator.columns]
            return read_local(context.spark, source, columns, folder, context.pinned_tasks())
        case Values():
            return _values(operator, context)
        case _:
            raise AssertionError(f"nothing reads {type(operator).__name__}")


def _expand(rows: DataFrame, node: Expand) -> DataFrame:
    types = {key: rows.schema[key].dataType for key in node.keys}

    def key_of(key: str, kept: tuple[str, ...]) -> Column:
        return (F.col(quote_name(key)) if key in kept else F.lit(None).cast(types[key])).alias(key)

    sets = (
        F.struct(*(key_of(key, kept) for key in node.keys), F.lit(number).alias(node.number))
        for number, kept in enumerate(node.sets)
    )
    others = [F.col(quote_name(name)) for name in rows.columns if name not in node.keys]
    return rows.select(*others, F.inline(F.array(*sets)))


def _values(node: Values, context: TranslationContext) -> DataFrame:
    once = one_row(context.spark, context.folder)
    if not node.columns:
        return once
    structs = (
        F.struct(
            *(
                column_of(value, context.spark).cast(spark_type(column.type)).alias(column.name)
                for value, column in zip(row, node.columns, strict=True)
            )
        )
        for row in node.rows
    )
    return once.select(F.inline(F.array(*structs)))
