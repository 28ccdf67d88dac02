"""What the columns of a node are computed from, through the projections and filters below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import walk
from millstream.plan.operators.project import Project
from millstream.plan.operators.values import Values
from millstream.plan.typed import InputColumn, substitute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.plan.operators.node import Node
    from millstream.plan.typed import Typed


def definitions(node: Node) -> dict[str, Typed]:
    """The columns of a node over those of the table, or of the state, from which its rows come."""
    match node:
        case Filter():
            [below] = node.inputs
            return definitions(below)
        case Project():
            [below] = node.inputs
            lower = definitions(below)

            def definition_below(column: InputColumn) -> Typed:
                return lower[column.name]

            return {item.name: substitute(item.expression, definition_below) for item in node.items}
        case _:
            return {column.name: InputColumn(column.name, column.type) for column in node.columns}


def expressions_below(node: Node) -> Iterator[Typed]:
    """All that the node and those below it compute from rows that are read."""
    return (expression for each in walk(node) if not isinstance(each, Values) for expression in each.expressions)
