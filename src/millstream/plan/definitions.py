"""What the columns of a node are computed from, through the projections and filters below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.plan.functions.registry import FUNCTIONS
from millstream.plan.operators.assign_watermark import AssignWatermark
from millstream.plan.operators.assign_windows import AssignWindows
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import walk
from millstream.plan.operators.project import Project
from millstream.plan.operators.union import Union
from millstream.plan.operators.unnest import Unnest
from millstream.plan.operators.values import Values
from millstream.plan.resolver.sql_text import sql_text
from millstream.plan.typed import Call, FieldOf, InputColumn, substitute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from millstream.plan.operators.node import Node, OutputColumn
    from millstream.plan.typed import Typed


def definitions(node: Node) -> dict[str, Typed]:
    """The columns of a node over those of the table, or of the state, from which its rows come."""
    match node:
        case Filter() | AssignWatermark():
            [below] = node.inputs
            return definitions(below)
        case Project():
            [below] = node.inputs
            lower = definitions(below)

            def definition_below(column: InputColumn) -> Typed:
                return lower[column.name]

            return {item.name: substitute(item.expression, definition_below) for item in node.items}
        case Union():
            branches = [definitions(branch) for branch in node.inputs]
            return {column.name: _any_of([each[column.name] for each in branches], column) for column in node.columns}
        case AssignWindows():
            [below] = node.inputs
            made = {column.name: InputColumn(column.name, column.type) for column in node.made}
            return definitions(below) | made
        case Unnest():
            [below] = node.inputs
            lower = definitions(below)
            parts = {
                part.name: FieldOf(lower[node.collection], part.field or str(part.kind), part.type)
                for part in node.parts
            }
            return {name: lower[name] for name in node.kept} | parts
        case _:
            return {column.name: InputColumn(column.name, column.type) for column in node.columns}


def _any_of(expressions: list[Typed], column: OutputColumn) -> Typed:
    """Stands for a column of a union: what each of its queries computes for it."""
    function = FUNCTIONS["ROW"]
    return Call(function, function.signatures[0], tuple(expressions), column.type)


def declare_columns(node: Node) -> list[str]:
    """The columns of rows that are kept as state, with what they are computed from: `total BIGINT = amount * 2`."""
    defined = definitions(node)
    return [f"{column.name} {column.type}{_definition(column.name, defined[column.name])}" for column in node.columns]


def declare_values(node: Node, names: Iterable[str]) -> list[str]:
    """What columns are computed from, whatever they are called: `amount * 2 INT`."""
    defined, types = definitions(node), node.column_types()
    return [f"{sql_text(defined[name])} {types[name]}" for name in names]


def declare_condition(condition: Typed, nodes: Iterable[Node]) -> str:
    """A condition on rows of several nodes, by what their columns are computed from."""
    defined = {name: expression for node in nodes for name, expression in definitions(node).items()}
    return sql_text(substitute(condition, lambda column: defined[column.name]))


def _definition(name: str, expression: Typed) -> str:
    """What is computed for a column, where it is not one of the table's by the same name."""
    is_itself = isinstance(expression, InputColumn) and expression.name == name
    return "" if is_itself else f" = {sql_text(expression)}"


def expressions_below(node: Node) -> Iterator[Typed]:
    """All that the node and those below it compute from rows that are read."""
    return (expression for each in walk(node) if not isinstance(each, Values) for expression in each.expressions)
