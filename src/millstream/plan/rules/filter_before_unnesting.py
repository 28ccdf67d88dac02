"""A condition on the columns beside a collection drops rows before their elements are made.

A function that gives rows is so called for no row that WHERE drops. In the same way, a row is not copied to each of
its windows before it is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.plan.conditions import all_of, conjuncts_of
from millstream.plan.functions.registry import RANDOM_FUNCTIONS
from millstream.plan.operators.assign_windows import AssignWindows
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import transform
from millstream.plan.operators.project import Project
from millstream.plan.operators.unnest import Unnest
from millstream.plan.typed import columns_in, functions_in, substitute

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.operators.node import Node
    from millstream.plan.operators.roots import Root
    from millstream.plan.typed import Typed
    from millstream.source import Span


def filter_before_unnesting(plan: Root, settings: JobSettings) -> Root:  # noqa: ARG001
    return plan.with_inputs(*(transform(below, _sink) for below in plan.inputs))


def _sink(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    [below] = node.inputs
    return node if _kept_by(below) is None else _filter(below, conjuncts_of(node.condition), node.span)


def _kept_by(node: Node) -> frozenset[str] | None:
    """The columns of the rows of which a node makes several."""
    match node:
        case Unnest():
            return frozenset(node.kept)
        case AssignWindows():
            return frozenset(column.name for below in node.inputs for column in below.columns)
        case _:
            return None


def _filter(node: Node, conditions: Sequence[Typed], span: Span) -> Node:
    """The rows of a node that fulfil the conditions, each tested as far below as it can be."""
    if not conditions:
        return node
    own, others = [], list(conditions)
    below = node
    if (kept := _kept_by(node)) is not None:
        own = [each for each in conditions if columns_in(each) <= kept and not _is_random(each)]
        others = [each for each in conditions if each not in own]
        below = node.with_inputs(_filter(node.inputs[0], own, span))
    elif isinstance(node, Project):
        plain = {item.name: item.expression for item in node.items if item.is_plain}
        own = [each for each in conditions if columns_in(each) <= plain.keys() and not _is_random(each)]
        others = [each for each in conditions if each not in own]
        inside = [substitute(each, lambda column: plain[column.name]) for each in own]
        below = node.with_inputs(_filter(node.inputs[0], inside, span))
    return Filter(below, all_of(others), span) if others else below


def _is_random(condition: Typed) -> bool:
    return not functions_in(condition).isdisjoint(RANDOM_FUNCTIONS)
