"""What the columns of a node are computed from, through the projections and filters below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import walk
from millstream.plan.operators.project import Project
from millstream.plan.operators.values import Values
from millstream.plan.resolver.sql_text import sql_text
from millstream.plan.typed import InputColumn, substitute

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

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


def declare_columns(node: Node, names: Collection[str] | None = None) -> list[str]:
    """The columns of rows that are kept as state: `total BIGINT = amount * 2`, or all of the node's."""
    defined = definitions(node)
    columns = (column for column in node.columns if names is None or column.name in names)
    return [f"{column.name} {column.type}{_definition(column.name, defined[column.name])}" for column in columns]


def _definition(name: str, expression: Typed) -> str:
    """What is computed for a column, where it is not one of the table's by the same name."""
    is_itself = isinstance(expression, InputColumn) and expression.name == name
    return "" if is_itself else f" = {sql_text(expression)}"


def expressions_below(node: Node) -> Iterator[Typed]:
    """All that the node and those below it compute from rows that are read."""
    return (expression for each in walk(node) if not isinstance(each, Values) for expression in each.expressions)
