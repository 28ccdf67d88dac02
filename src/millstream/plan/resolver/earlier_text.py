"""Definitions of columns as versions before the typed plan wrote them into checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.plan.operators.filter import Filter
from millstream.plan.operators.project import Project
from millstream.plan.resolver.scope import column_reference
from millstream.plan.resolver.sql_text import tree_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.plan.operators.node import Node


def earlier_definitions(node: Node, *, through_projections: bool = True) -> dict[str, str]:
    """The columns of a node over those of the table: what stood for a column is in parentheses, needed or not."""
    return {name: tree.sql() for name, tree in _trees(node, through_projections=through_projections).items()}


def quote_name(name: str) -> str:
    return column_reference(name).sql()


def _trees(node: Node, *, through_projections: bool) -> dict[str, exp.Expr]:
    match node:
        case Filter() if through_projections:
            return _trees(node.inputs[0], through_projections=True)
        case Project():
            lower = _trees(node.inputs[0], through_projections=True) if through_projections else {}
            return {item.name: _over(tree_of(item.expression), lower) for item in node.items}
        case _:
            return {column.name: column_reference(column.name) for column in node.columns}


def _over(expression: exp.Expr, lower: Mapping[str, exp.Expr]) -> exp.Expr:
    def lowered(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or node.name not in lower:
            return node
        definition = lower[node.name].copy()
        return definition if isinstance(definition, exp.Column) else exp.Paren(this=definition)

    found = expression.transform(lowered)
    return found.unnest() if isinstance(expression, exp.Column) else found
