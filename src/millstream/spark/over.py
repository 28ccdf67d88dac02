"""OVER on the kernel host.

Columns have numbers for names inside: PySpark looks names up unquoted, and a user's name may contain dots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.aggregates.calls import Call
from millstream.changelog import KIND
from millstream.kernels.frames import Frame
from millstream.kernels.operator import ROWS
from millstream.kernels.over import OverOperator
from millstream.kernels.over_calls import FrameCall, Numbering, Shift
from millstream.kernels.row_order import SortKey
from millstream.kernels.updated_over import UpdatedOverOperator
from millstream.plan.operators.over import SHIFTS, OverOrder
from millstream.spark.comparable import kernel_schema
from millstream.spark.kernel_host import host
from millstream.spark.python_rows import ColumnUse, prepare_columns, schema_of, struct_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from millstream.plan.operators.over import Over, OverCall
    from millstream.spark.kernel_stage import KernelSettings
    from millstream.spark.python_stage import InputRows, PythonStage


def over(rows: InputRows, node: Over, kernel_settings: KernelSettings, *, has_kinds: bool) -> PythonStage:
    schema = schema_of(rows)
    uses = [
        ColumnUse(
            column.name,
            f"column{number}",
            schema[column.name].dataType,
            is_compared=column.name in node.compared_columns,
        )
        for number, column in enumerate(node.inputs[0].columns)
    ]
    inside = {use.source: use.name for use in uses}
    results = {call.name: f"result{number}" for number, call in enumerate(node.calls)}
    operator = over_operator(node, kernel_schema(struct_of(uses)), inside | results, expires=kernel_settings.expires)
    kind = {KIND: KIND} if has_kinds else {}
    prepared = prepare_columns(rows, uses)
    return host({ROWS: prepared}, operator, node.id, kernel_settings, {**inside, **results, **kind})


def over_operator(
    node: Over, schema: pa.Schema, names: Mapping[str, str], *, expires: bool
) -> OverOperator | UpdatedOverOperator:
    """`names` are those that columns have in the kernel."""
    calls = tuple(_frame_call(call, names) for call in node.calls if call.frame is not None)
    shifts = tuple(_shift(call, names) for call in node.calls if call.function in SHIFTS)
    numberings = tuple(
        _numbering(call, names) for call in node.calls if call.frame is None and call.function not in SHIFTS
    )
    keys = tuple(names[key] for key in node.keys)
    if node.ordered_by is OverOrder.OTHER:
        order = tuple(SortKey(names[column.name], column.descending, column.nulls_last) for column in node.order)
        return UpdatedOverOperator(
            schema, keys, order, calls, shifts, numberings, expires=expires, repeats=node.repeats
        )
    time = names[node.order[0].name] if node.ordered_by is OverOrder.EVENT_TIME else None
    return OverOperator(schema, keys, time, calls, shifts, numberings, expires=expires)


def _frame_call(call: OverCall, names: Mapping[str, str]) -> FrameCall:
    assert call.frame is not None
    argument, condition = (name if name is None else names[name] for name in (call.argument, call.filter))
    frame = Frame(call.frame.preceding, call.frame.by_time, call.frame.following)
    return FrameCall(Call(names[call.name], call.function, argument, call.distinct, condition, call.parameters), frame)


def _shift(call: OverCall, names: Mapping[str, str]) -> Shift:
    assert call.argument is not None
    [rows] = call.parameters
    offset = int(rows) if call.function == "LAG" else -int(rows)
    return Shift(names[call.name], names[call.argument], offset, None if call.default is None else names[call.default])


def _numbering(call: OverCall, names: Mapping[str, str]) -> Numbering:
    return Numbering(names[call.name], call.function, int(call.parameters[0]) if call.parameters else None)
