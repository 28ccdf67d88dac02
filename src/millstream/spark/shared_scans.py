"""Scans that several INSERTs of a set share: each is read and decoded once, up to where its readers part."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from millstream.plan.operators.roots import Write
from millstream.plan.physical.nodes import Execution, PhysicalNode
from millstream.spark.crossing import Crossing, Rows
from millstream.spark.one_pass import pack_in_one_pass, write_in_one_pass
from millstream.spark.translate import rows_of, stateful_step, stateless_step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from millstream.plan.physical.nodes import PhysicalPlan
    from millstream.spark.branch import Branch
    from millstream.spark.translate import TranslationContext

Encode: TypeAlias = Callable[[Rows, PhysicalNode], Crossing]
"""The messages of the rows that an INSERT writes."""


def read_together(plan: PhysicalPlan, context: TranslationContext, encode: Encode) -> dict[PhysicalNode, DataFrame]:
    """What leaves the nodes up to which scans are shared."""
    made: dict[PhysicalNode, DataFrame] = {}
    for shared in plan.shared:
        readers = [partial(_crossing, end, context, encode) for end in shared.ends]
        rows = rows_of(shared.scan, context)
        if all(isinstance(end.operator, Write) for end in shared.ends):
            made |= dict.fromkeys(shared.ends, write_in_one_pass(rows, readers))
        else:
            made |= dict(zip(shared.ends, pack_in_one_pass(rows, readers), strict=True))
    return made


def _crossing(end: PhysicalNode, context: TranslationContext, encode: Encode, branch: Branch) -> Crossing:
    match end.execution:
        case Execution.SINK:
            return encode(_rows(end.inputs[0], branch, context), end)
        case Execution.KERNEL:
            return stateful_step([_rows(end.inputs[0], branch, context)], end, context)
        case _:
            rows = _rows(end, branch, context)
            return Crossing(rows, rows.schema)


def _rows(node: PhysicalNode, branch: Branch, context: TranslationContext) -> Branch:
    if node.execution is Execution.SOURCE:
        return branch
    return stateless_step(_rows(node.inputs[0], branch, context), node, context)
