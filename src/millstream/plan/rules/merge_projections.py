"""Two projections on top of each other become one, where that computes nothing twice and no other value."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.plan.operators.node import transform
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.typed import InputColumn, columns_in, substitute, walk

if TYPE_CHECKING:
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root
    from millstream.plan.typed import Typed
    from millstream.sql.types import DataType


def merge_projections(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    below = (transform(node, _merge) for node in plan.inputs)
    return plan.with_inputs(*map(_without_idle_projection, below))


def _merge(node: Node) -> Node:
    node = node.with_inputs(*map(_without_idle_projection, node.inputs))
    if not isinstance(node, Project):
        return node
    [below] = node.inputs
    if not isinstance(below, Project):
        return node
    uses = Counter(part.name for item in node.items for part in walk(item.expression) if isinstance(part, InputColumn))
    items = [_through(item, below, uses) for item in node.items]
    if None in items:
        return node
    return replace(node, items=tuple(item for item in items if item is not None)).with_inputs(*below.inputs)


def _without_idle_projection(node: Node) -> Node:
    """What is below a projection that changes nothing."""
    if not isinstance(node, Project):
        return node
    [below] = node.inputs
    is_idle = node.columns == below.columns and all(_is_column(item.expression, item.name) for item in node.items)
    return below if is_idle else node


def _is_column(expression: Typed, name: str) -> bool:
    return isinstance(expression, InputColumn) and expression.name == name


def _through(item: ProjectItem, below: Project, uses: Counter[str]) -> ProjectItem | None:
    """The item over what is below `below`; None where it cannot be said without the projection between."""
    lower = {lower_item.name: lower_item for lower_item in below.items}
    if isinstance(item.expression, InputColumn):
        source = lower[item.expression.name]
        is_moved = uses[source.name] == 1 and _same(source.type, item.type)
        return replace(item, expression=source.expression) if source.is_plain or is_moved else None
    if not all(lower[name].is_plain for name in columns_in(item.expression)):
        return None
    return replace(item, expression=substitute(item.expression, lambda column: lower[column.name].expression))


def _same(left: DataType, right: DataType) -> bool:
    return left.not_null() == right.not_null()
