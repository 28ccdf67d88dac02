"""Two projections on top of each other become one, where that computes nothing twice and no other value."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.plan.nodes import Aggregate, Expand, Node, Project, ProjectItem, Scan, Values

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.nodes import Root
    from millstream.sql.types import DataType


def merge_projections(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    return replace(plan, input=_merged(plan.input))


def _merged(node: Node) -> Node:
    if isinstance(node, Scan | Values):
        return node
    below = _merged(node.input)
    if isinstance(below, Project) and _changes_nothing(below) and not isinstance(node, Aggregate | Expand):
        below = below.input
    node = replace(node, input=below)
    if isinstance(node, Project) and isinstance(below, Project):
        items = [_through(item, below, _uses(node)) for item in node.items]
        if None not in items:
            return replace(node, input=below.input, items=tuple(item for item in items if item is not None))
    return node


def _changes_nothing(project: Project) -> bool:
    return project.columns == project.input.columns and all(
        isinstance(item.expression, exp.Column) and item.expression.name == item.name for item in project.items
    )


def _uses(project: Project) -> Counter[str]:
    return Counter(column.name for item in project.items for column in item.expression.find_all(exp.Column))


def _through(item: ProjectItem, below: Project, uses: Counter[str]) -> ProjectItem | None:
    """The item over what is below `below`; None where it cannot be said without the projection between."""
    lower = {lower_item.name: lower_item for lower_item in below.items}
    types = {column.name: column.type for column in below.input.columns}
    if isinstance(item.expression, exp.Column):
        source = lower[item.expression.name]
        is_plain = isinstance(source.expression, exp.Column) and source.type == types[source.expression.name]
        is_moved = uses[source.name] == 1 and _same(source.type, item.type)
        return ProjectItem(item.name, source.expression, item.type) if is_plain or is_moved else None
    needed = {column.name for column in item.expression.find_all(exp.Column)}
    if not all(isinstance(lower[name].expression, exp.Column) for name in needed):
        return None
    if any(lower[name].type != types[lower[name].expression.name] for name in needed):
        return None

    def lowered(node: exp.Expr) -> exp.Expr:
        return lower[node.name].expression.copy() if isinstance(node, exp.Column) else node

    replaced = item.expression.transform(lowered)
    return ProjectItem(item.name, replaced, item.type)


def _same(left: DataType | None, right: DataType | None) -> bool:
    return left is not None and right is not None and left.not_null() == right.not_null()
