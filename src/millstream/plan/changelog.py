"""Which kinds of change each plan node gives, and by which key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.aggregates.record import KeepsValues
from millstream.aggregates.registry import aggregate_function
from millstream.changelog import INSERT_ONLY, UPSERTS, RowKind, letters
from millstream.plan.nodes import (
    Aggregate,
    Collect,
    Expand,
    Filter,
    Materialise,
    Normalise,
    Project,
    Scan,
    Values,
    Write,
)
from millstream.plan.typing import keeps_apart

if TYPE_CHECKING:
    from millstream.changelog import ChangelogMode
    from millstream.plan.nodes import Node


def provided(node: Node) -> ChangelogMode:
    """The kinds of change that leave a node."""
    match node:
        case Scan():
            return node.source.changelog
        case Values():
            return INSERT_ONLY
        case Aggregate():
            if only_grows(node) and not node.repeats:
                return INSERT_ONLY
            updating = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER})
            changes = updating if only_grows(node.input) else updating | {RowKind.DELETE}
            return changes | _before(emits=node.emits_before)
        case Normalise():
            return UPSERTS | _before(emits=node.emits_before)
        case Materialise():
            return UPSERTS
        case Filter() | Project() | Expand() | Write() | Collect():
            return provided(node.input)


def only_grows(node: Node) -> bool:
    """Whether no row ever goes. One that is given again as it was, to keep state above alive, does not."""
    match node:
        case Scan() | Values():
            return provided(node) == INSERT_ONLY
        case Aggregate():
            return not node.calls and only_grows(node.input)  # SELECT DISTINCT
        case Normalise() | Materialise():
            return False
        case Filter() | Project() | Expand() | Write() | Collect():
            return only_grows(node.input)


def keeps_more_for_changes(node: Aggregate) -> bool:
    """Whether its state would be another one if no row ever went: single values, and not only the result."""
    functions = (aggregate_function(call.function) for call in node.calls)
    depends = any(function.keeps_values is KeepsValues.FOR_RETRACTIONS for function in functions)
    return depends and not only_grows(node.input)


def _before(*, emits: bool) -> ChangelogMode:
    return frozenset({RowKind.UPDATE_BEFORE}) if emits else frozenset()


def upsert_key(node: Node) -> tuple[str, ...] | None:
    """The columns by which a later row replaces an earlier one, if there are such."""
    match node:
        case Scan():
            return (node.source.table.primary_key or None) if node.source.changelog != INSERT_ONLY else None
        case Values() | Expand():
            return None
        case Aggregate() | Normalise() | Materialise():
            return node.keys
        case Filter() | Write() | Collect():
            return upsert_key(node.input)
        case Project():
            key = upsert_key(node.input)
            if key is None:
                return None
            types = {column.name: column.type for column in node.input.columns}
            kept = {
                item.expression.name: item.name
                for item in reversed(node.items)
                if isinstance(item.expression, exp.Column) and keeps_apart(types[item.expression.name], item.type)
            }
            return tuple(kept[name] for name in key) if all(name in kept for name in key) else None


def describe(node: Node) -> str:
    """`changelog=[I,UA] key=[user_region]`, as EXPLAIN prints it."""
    key = upsert_key(node)
    return f"changelog=[{letters(provided(node))}]" + (f" key=[{','.join(key)}]" if key is not None else "")
