"""Scans that several INSERTs of a statement set, or both inputs of an operator, share.

Each is read and decoded once, up to where the plans diverge.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from millstream.plan.operators.roots import Write
from millstream.plan.physical.nodes import Execution, PhysicalNode
from millstream.spark.python_stage import PythonStage, Rows
from millstream.spark.shared_readers import pack_in_one_pass, part_in_python, part_in_spark, write_in_one_pass
from millstream.spark.translate import frame_of, python_step, reach_kernel, rows_of, stateful_step, stateless_step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from millstream.plan.physical.nodes import PhysicalPlan, SharedScan
    from millstream.spark.shared_rows import SharedRows
    from millstream.spark.translate import TranslationContext

Encode: TypeAlias = Callable[[Rows | PythonStage, PhysicalNode], PythonStage]
"""The messages of the rows that an INSERT writes."""


def read_together(
    plan: PhysicalPlan, context: TranslationContext, encode: Encode
) -> dict[PhysicalNode, DataFrame | PythonStage]:
    """The output of the nodes up to which scans are shared."""
    made: dict[PhysicalNode, DataFrame | PythonStage] = {}
    for shared in plan.shared:
        if len(shared.ends[0].inputs) > 1:
            made[shared.ends[0]] = _feed_inputs(shared, context)
            continue
        readers = [partial(_python_stage, end, context, encode) for end in shared.ends]
        if shared.obstacle is None:
            rows = rows_of(shared.scan, context)
            assert isinstance(rows, PythonStage)
            parted = part_in_python(rows, readers)
        else:
            parted = part_in_spark(frame_of(shared.scan, context), readers)
        if all(isinstance(end.operator, Write) for end in shared.ends):
            made |= dict.fromkeys(shared.ends, write_in_one_pass(parted))
        else:
            ticks = None if context.ticks is None else context.ticks.packets(context.kernel_settings)
            packed = pack_in_one_pass(parted, context.kernel_settings.tasks, ticks)
            made |= dict(zip(shared.ends, packed, strict=True))
    return made


def _feed_inputs(shared: SharedScan, context: TranslationContext) -> PythonStage:
    """What an operator makes of rows that all of its inputs read."""
    [end] = shared.ends
    source = rows_of(shared.scan, context)
    assert isinstance(source, PythonStage)
    rows = PythonStage(source, source.schema, notes_time=source.notes_time)
    inputs = [_rows(below, rows, context) for below in end.inputs]
    return reach_kernel(stateful_step(inputs, end, context), context)


def _python_stage(
    end: PhysicalNode, context: TranslationContext, encode: Encode, shared_rows: SharedRows | PythonStage
) -> PythonStage:
    match end.execution:
        case Execution.SINK:
            return encode(_rows(end.inputs[0], shared_rows, context), end)
        case Execution.KERNEL:
            return stateful_step([_rows(end.inputs[0], shared_rows, context)], end, context)
        case _:
            rows = _rows(end, shared_rows, context)
            return rows if isinstance(rows, PythonStage) else PythonStage(rows, rows.schema)


def _rows(
    node: PhysicalNode, shared_rows: SharedRows | PythonStage, context: TranslationContext
) -> SharedRows | PythonStage:
    if node.execution is Execution.SOURCE:
        return shared_rows
    below = _rows(node.inputs[0], shared_rows, context)
    return python_step(below, node, context) if isinstance(below, PythonStage) else stateless_step(below, node, context)
