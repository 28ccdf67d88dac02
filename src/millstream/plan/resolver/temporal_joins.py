"""JOIN t FOR SYSTEM_TIME AS OF a time: of the processing time, a lookup; of an event time, the version of that time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.join_kinds import JoinKind
from millstream.plan.conditions import all_of
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.temporal_join import TemporalJoin
from millstream.plan.resolver.joins import equality_of, loses_in_cast, with_keys
from millstream.plan.resolver.lookups import COMPUTE_BEFORE, look_up
from millstream.plan.resolver.python_conditions import leave_out_true, refuse_obstacles
from millstream.plan.typed import InputColumn, is_processing_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.joins import Condition, Relation
    from millstream.plan.typed import Typed
    from millstream.source import Span


@dataclass(frozen=True, slots=True)
class AsOf:
    moment: Typed
    """Over the columns of the relations before."""
    place: Span


def join_as_of(kind: JoinKind, left: Node, relation: Relation, conditions: Sequence[Condition], as_of: AsOf) -> Node:
    moment = as_of.moment
    _require_kind(kind, relation)
    if is_processing_time(moment) or (isinstance(moment, InputColumn) and moment.name in left.proctimes):
        return look_up(kind, left, relation, conditions)
    if not isinstance(moment, InputColumn) or moment.name not in left.rowtimes:
        raise ScriptError(_no_time(as_of))
    return _join_versions(kind, left, relation, conditions, moment.name)


def _join_versions(kind: JoinKind, left: Node, relation: Relation, conditions: Sequence[Condition], time: str) -> Node:
    """By all equalities; which of them are the key of the versions is found out with the versions."""
    found = [(condition, equality_of(condition.expression, left, relation.node)) for condition in conditions]
    pairs = [pair for _, pair in found if pair is not None]
    if not pairs:
        raise ScriptError(_no_equality(relation))
    others = leave_out_true(each for each, pair in found if pair is None or loses_in_cast(each.expression))
    condition = all_of(each.expression for each in others) if others else None
    is_outer = kind is JoinKind.LEFT
    right_columns = [column.or_null() if is_outer else column for column in relation.node.columns]
    output = (*left.columns, *right_columns)
    lefts, rights, left_keys, right_keys = with_keys(left, relation.node, pairs, relation.span)
    joined = TemporalJoin(
        lefts, rights, left_keys, right_keys, time, None, output, relation.span, relation.qualifier, kind
    )
    if condition is None or not is_outer:
        return joined if condition is None else Filter(joined, condition, relation.span)
    refuse_obstacles(others, "in the condition of a temporal join", COMPUTE_BEFORE)
    return replace(joined, condition=condition)


def _require_kind(kind: JoinKind, relation: Relation) -> None:
    if kind not in (JoinKind.INNER, JoinKind.LEFT):
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                f"a {kind} join FOR SYSTEM_TIME AS OF is not possible",
                relation.span,
                detail="Rows of the table are looked up as others arrive; they do not arrive themselves.",
                hint="Use JOIN or LEFT JOIN.",
            )
        )


def _no_time(as_of: AsOf) -> Diagnostic:
    return Diagnostic(
        Code.UNSUPPORTED_STATEMENT,
        "FOR SYSTEM_TIME AS OF needs a time attribute of the rows on the left",
        as_of.place,
        detail="It is the column of a WATERMARK, whose value has not been changed since, or a processing time.",
        hint="Declare WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, or a column `proc_time AS PROCTIME()`, in the "
        "table on the left, and write FOR SYSTEM_TIME AS OF t.ts or t.proc_time; or use a regular join.",
    )


def _no_equality(relation: Relation) -> Diagnostic:
    return Diagnostic(
        Code.UNSUPPORTED_STATEMENT,
        f'no condition says which row of "{relation.qualifier}" is joined',
        relation.span,
        hint=f"Compare its primary key with columns of the rows on the left, e.g. ON t.id = {relation.qualifier}.id.",
    )
