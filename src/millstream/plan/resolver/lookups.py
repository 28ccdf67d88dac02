"""JOIN t FOR SYSTEM_TIME AS OF a processing time: the rows that a table has when a row arrives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from millstream.connectors.registry import LOOKUP_CONNECTORS
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.join_kinds import JoinKind
from millstream.plan.conditions import all_of
from millstream.plan.operators.assign_watermark import without_watermarks
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.lookup import Lookup
from millstream.plan.operators.project import Project
from millstream.plan.operators.scan import Scan
from millstream.plan.resolver.joins import equality_of, loses_in_cast, with_keys
from millstream.plan.resolver.python_conditions import leave_out_true, refuse_obstacles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.joins import Condition, Relation

COMPUTE_BEFORE: Final = "Compute it in a sub-query on the left, or as a computed column of the table on the left."
REGULAR_JOIN: Final = "Leave FOR SYSTEM_TIME AS OF out: a regular join also follows later changes of the table."


def look_up(kind: JoinKind, left: Node, relation: Relation, conditions: Sequence[Condition]) -> Node:
    """All conditions are about matches, also those on the table alone: a row may replace one that fulfilled them."""
    relation = replace(relation, node=without_watermarks(relation.node))
    _require_lookup_table(relation)
    found = [(condition, equality_of(condition.expression, left, relation.node)) for condition in conditions]
    keys = [pair for _, pair in found if pair is not None]
    if not keys:
        raise ScriptError(_no_key(relation))
    others = leave_out_true(each for each, pair in found if pair is None or loses_in_cast(each.expression))
    condition = all_of(each.expression for each in others) if others else None
    sides = with_keys(left, relation.node, keys, relation.span)
    is_outer = kind is JoinKind.LEFT
    table_columns = [column.or_null() if is_outer else column for column in relation.node.columns]
    output = (*left.columns, *table_columns)
    if condition is None or is_outer:
        refuse_obstacles(others, "in the condition of a lookup", COMPUTE_BEFORE)
        return Lookup(*sides, is_outer, condition, output, relation.span)
    return Filter(Lookup(*sides, is_outer, None, output, relation.span), condition, relation.span)


def _require_lookup_table(relation: Relation) -> None:
    """It is a table, with its computed columns, of a connector that can say what its rows are now."""
    below, why = relation.node, "It is a query."
    while isinstance(below, Project):
        [below] = below.inputs
    if isinstance(below, Scan):
        why = below.source.obstacle_to_lookup or ""
    if why:
        connectors = " or ".join(f"'{connector}'" for connector in LOOKUP_CONNECTORS)
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                f'rows cannot be looked up in "{relation.qualifier}"',
                relation.span,
                detail=f"{why} FOR SYSTEM_TIME AS OF needs a table of connector {connectors}.",
                hint=REGULAR_JOIN,
            )
        )


def _no_key(relation: Relation) -> Diagnostic:
    return Diagnostic(
        Code.UNSUPPORTED_STATEMENT,
        f'no condition says by which of its columns rows are looked up in "{relation.qualifier}"',
        relation.span,
        hint=f"Compare one of its columns with one of the rows, e.g. ON t.id = {relation.qualifier}.id.",
    )
