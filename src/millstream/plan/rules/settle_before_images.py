"""The old row of an update travels only where somebody needs it, and so does a result that did not change."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    from millstream.catalog.job_settings import JobSettings
    from millstream.plan.nodes import Root


@dataclass(frozen=True, slots=True)
class _Above:
    """What the steps above make of the rows."""

    needs_before: bool
    """Somebody wants to see old rows."""
    keeps_state: bool = False
    state_expires: bool = False


def settle_before_images(plan: Root, settings: JobSettings) -> Root:
    needed = isinstance(plan, Collect) or RowKind.UPDATE_BEFORE in plan.sink.accepts
    return replace(plan, input=_settled(plan.input, _Above(needed, state_expires=settings.state_expires)))


def _settled(node: Node, above: _Above) -> Node:
    keeping = replace(above, needs_before=True, keeps_state=True)
    match node:
        case Scan() | Values():
            return node
        case Aggregate():
            settled = replace(node, input=_settled(node.input, keeping))
            # Rows without duplicates stay inserts, unless state above would expire while this one lives on.
            repeats = above.state_expires and (above.keeps_state or _updates(settled))
            settled = replace(settled, repeats=repeats)
            return replace(settled, emits_before=above.needs_before and _updates(settled))
        case Normalise():
            return replace(node, input=_settled(node.input, keeping), emits_before=above.needs_before)
        case Materialise():
            return replace(node, input=_settled(node.input, keeping))
        case Filter():
            needed = above.needs_before or _may_let_go(node)
            return replace(node, input=_settled(node.input, replace(above, needs_before=needed)))
        case Project() | Expand() | Write() | Collect():
            return replace(node, input=_settled(node.input, above))


def _updates(node: Node) -> bool:
    return RowKind.UPDATE_AFTER in provided(node)


def _may_let_go(node: Filter) -> bool:
    """Whether an update may turn a row that matched into one that does not; only its old image tells."""
    if provided(node.input) == INSERT_ONLY:
        return False
    key = upsert_key(node.input) or ()
    return not {column.name for column in node.condition.find_all(exp.Column)} <= set(key)
