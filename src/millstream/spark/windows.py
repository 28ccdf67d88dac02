"""Windows: each row with those that its time belongs to, in Python; and what is grouped by them, on the kernel host."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.types import StructType

from millstream.kernels.operator import ROWS
from millstream.kernels.sessions import SessionOperator
from millstream.kernels.window_aggregate import WindowAggregateOperator
from millstream.kernels.window_join import WindowJoinOperator
from millstream.kernels.window_rank import WindowRankOperator
from millstream.plan.vectorised.window_rows import WindowRows, to_times
from millstream.spark.aggregate import prepare_grouping
from millstream.spark.comparable import kernel_schema
from millstream.spark.join import prepare_join
from millstream.spark.kernel_host import host
from millstream.spark.python_rows import ColumnUse, prepare_columns, schema_of, struct_of
from millstream.spark.python_stage import to_struct
from millstream.spark.rank import prepare_rank
from millstream.spark.types import spark_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from millstream.plan.operators.assign_sessions import AssignSessions
    from millstream.plan.operators.assign_windows import AssignWindows
    from millstream.plan.operators.window_aggregate import WindowAggregate
    from millstream.plan.operators.window_join import WindowJoin
    from millstream.plan.operators.window_rank import WindowRank
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import InputRows, PythonStage
    from millstream.windows import Windows

_ROWS_TOGETHER: Final = 1 << 16
"""A row may be in many windows."""
_LAST_MOMENT: Final = 1
"""The last moment of a window is so many milliseconds before its end."""


def assign_windows(rows: PythonStage, node: AssignWindows) -> PythonStage:
    made = to_struct(spark_schema((column.name, column.type) for column in node.made))
    schema = StructType([*rows.row_schema.fields, *made.fields])
    names = tuple(
        part for part, name in (("start", node.start), ("end", node.end), ("time", node.time)) if name is not None
    )
    return rows.pipe(partial(assign_batches, node.column, node.windows, names, kernel_schema(schema)), schema)


def assign_batches(
    column: str, windows: Windows, made: Sequence[str], schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """`made` says what the last columns of the schema are.

    Passes on batches with no rows left, too: skipping them would let this reader run ahead of the others.
    """
    for batch in batches:
        assigned = WindowRows.of(batch.column(column), windows)
        for first in range(0, max(len(assigned), 1), _ROWS_TOGETHER):
            part = slice(first, first + _ROWS_TOGETHER)
            own = {
                "start": assigned.starts[part],
                "end": assigned.ends[part],
                "time": assigned.ends[part] - _LAST_MOMENT,
            }
            is_whole = windows.most == 1 and len(assigned) == batch.num_rows
            chosen = batch.slice(first, _ROWS_TOGETHER) if is_whole else batch.take(pa.array(assigned.rows[part]))
            around = chosen.columns
            types = schema.types[len(around) :]
            columns = [*around, *(to_times(own[name], type_) for name, type_ in zip(made, types, strict=True))]
            yield pa.RecordBatch.from_arrays(columns, [*batch.schema.names, *schema.names[len(around) :]])


def window_aggregate(rows: InputRows, node: WindowAggregate, settings: KernelSettings) -> PythonStage:
    grouping = prepare_grouping(rows, node)
    operator = WindowAggregateOperator(grouping.operator, grouping.keys[node.end], node.follows_clock)
    return host({ROWS: grouping.rows}, operator, node.id, _lasting(settings), {**grouping.keys, **grouping.results})


def assign_sessions(rows: InputRows, node: AssignSessions, settings: KernelSettings) -> PythonStage:
    schema = schema_of(rows)
    uses = [
        ColumnUse(column.name, f"column{number}", schema[column.name].dataType, is_compared=column.name in node.keys)
        for number, column in enumerate(node.inputs[0].columns)
    ]
    inside = {use.source: use.name for use in uses}
    operator = SessionOperator(
        tuple(inside[key] for key in node.keys),
        inside[node.column],
        node.gap,
        kernel_schema(struct_of(uses)),
        node.follows_clock,
    )
    bounds = dict(zip((node.start, node.end, node.time), operator.bounds, strict=True))
    return host({ROWS: prepare_columns(rows, uses)}, operator, node.id, _lasting(settings), inside | bounds)


def window_rank(rows: InputRows, node: WindowRank, settings: KernelSettings) -> PythonStage:
    prepared, operator, columns = prepare_rank(rows, node, _lasting(settings))
    [end] = [use for name, use in columns.items() if name == node.end]
    windowed = WindowRankOperator(operator, end, node.follows_clock)
    return host({ROWS: prepared}, windowed, node.id, _lasting(settings), columns)


def window_join(left: InputRows, right: InputRows, node: WindowJoin, settings: KernelSettings) -> PythonStage:
    inputs, operator, columns = prepare_join(left, right, node, _lasting(settings))
    places = (node.left_keys.index(node.ends[0]), node.right_keys.index(node.ends[1]))
    ends = (operator.left.keys[places[0]], operator.right.keys[places[1]])
    windowed = WindowJoinOperator(operator, *ends, node.follows_clock)
    return host(inputs, windowed, node.id, _lasting(settings), columns)


def _lasting(settings: KernelSettings) -> KernelSettings:
    """The state of a window ends with the window, and not with a TTL."""
    return settings.with_ttl(timedelta())
