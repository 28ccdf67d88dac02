"""Unions of rows that are in Python: what is done with all of them is done with those of each input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.plan.operators.union import Union
from millstream.plan.physical.nodes import Execution, PhysicalNode

if TYPE_CHECKING:
    from millstream.plan.operators.node import Node


def is_united(node: PhysicalNode) -> bool:
    """Whether its rows are in several stages in Python."""
    return isinstance(node.operator, Union) and node.execution is Execution.PYTHON


def push_below_union(node: Node, united: PhysicalNode) -> PhysicalNode:
    """The union of what a filter or projection gives for the rows of each input."""
    sides = tuple(_over(node, side) for side in united.inputs)
    assert isinstance(united.operator, Union)
    union = united.operator.with_branches(tuple(side.operator for side in sides), node.columns)
    return PhysicalNode(union, sides, Execution.PYTHON, united.has_kinds)


def _over(node: Node, side: PhysicalNode) -> PhysicalNode:
    if is_united(side):
        return push_below_union(node, side)
    return PhysicalNode(node.with_inputs(side.operator), (side,), Execution.PYTHON, side.has_kinds)
