"""What the columns of a node are computed from, through the projections and filters below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.plan.nodes import Filter, Project, Scan, Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from millstream.plan.nodes import Node


def definitions(node: Node) -> dict[str, exp.Expr]:
    """The columns of a node over those of the table, or of the state, from which its rows come."""
    match node:
        case Filter():
            return definitions(node.input)
        case Project():
            lower = definitions(node.input)
            return {item.name: _over(item.expression, lower) for item in node.items}
        case _:
            return {}


def expressions_below(node: Node) -> Iterator[exp.Expr]:
    """All that filters and projections compute, down to what is read."""
    match node:
        case Scan() | Values():
            return
        case Filter():
            yield node.condition
        case Project():
            yield from (item.expression for item in node.items)
    yield from expressions_below(node.input)


def _over(expression: exp.Expr, lower: Mapping[str, exp.Expr]) -> exp.Expr:
    def lowered(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or node.name not in lower:
            return node
        definition = lower[node.name].copy()
        return definition if isinstance(definition, exp.Column) else exp.Paren(this=definition)

    found = expression.transform(lowered)
    return found.unnest() if isinstance(expression, exp.Column) else found
