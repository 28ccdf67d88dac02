"""The old row of an update travels only where somebody needs it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.changelog import INSERT_ONLY, RowKind
from millstream.plan.changelog import provided, upsert_key
from millstream.plan.nodes import (
    Aggregate,
    Collect,
    Expand,
    Filter,
    Materialise,
    Node,
    Normalise,
    Project,
    Scan,
    Values,
    Write,
)

if TYPE_CHECKING:
    from millstream.plan.nodes import Root
    from millstream.plan.settings import PlanSettings


def settle_before_images(plan: Root, settings: PlanSettings) -> Root:  # noqa: ARG001
    match plan:
        case Write():
            return replace(plan, input=_settled(plan.input, needed=RowKind.UPDATE_BEFORE in plan.sink.accepts))
        case Collect():
            return replace(plan, input=_settled(plan.input, needed=True))


def _settled(node: Node, *, needed: bool) -> Node:
    """`needed` says whether somebody above wants to see old rows."""
    match node:
        case Scan() | Values():
            return node
        case Aggregate() | Normalise():
            return replace(node, input=_settled(node.input, needed=True), emits_before=needed and _updates(node))
        case Materialise():
            return replace(node, input=_settled(node.input, needed=True))
        case Filter():
            return replace(node, input=_settled(node.input, needed=needed or _may_let_go(node)))
        case Project() | Expand() | Write() | Collect():
            return replace(node, input=_settled(node.input, needed=needed))


def _updates(node: Node) -> bool:
    return RowKind.UPDATE_AFTER in provided(node)


def _may_let_go(node: Filter) -> bool:
    """Whether an update may turn a row that matched into one that does not; only its old image tells."""
    if provided(node.input) == INSERT_ONLY:
        return False
    key = upsert_key(node.input) or ()
    return not {column.name for column in node.condition.find_all(exp.Column)} <= set(key)
