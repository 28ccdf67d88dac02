"""Whether a sub-query that stands for a value has one row at most for each row around it, as far as the plan knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.join_kinds import JoinKind
from millstream.plan.conditions import conjuncts_of
from millstream.plan.functions.registry import RANDOM_FUNCTIONS
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.join import Join
from millstream.plan.operators.project import Project
from millstream.plan.operators.values import Values
from millstream.plan.resolver.correlation import equality_of_both
from millstream.plan.resolver.joins import loses_in_cast
from millstream.plan.typed import Call, InputColumn, columns_in, functions_in, user_functions_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.correlation import InnerQuery
    from millstream.plan.resolver.scope import Scope
    from millstream.plan.typed import Typed
    from millstream.source import Span


def require_one_column(columns: Sequence[object], place: Span) -> None:
    if len(columns) != 1:
        raise ScriptError(
            Diagnostic(
                Code.TYPE_MISMATCH,
                f"a sub-query that stands for a value has one column, and this one has {len(columns)}",
                place,
                hint="Select one column, or write a sub-query for each value.",
            )
        )


def require_one_row(inner: InnerQuery, outer: Scope, place: Span) -> None:
    """The row around it, or constants, must determine a key."""
    equalities = [equality_of_both(tree, inner.scope, outer) for tree in inner.correlated]
    fixed = frozenset(each.own.name for each in equalities if each is not None and isinstance(each.own, InputColumn))
    if not _has_one_row(inner.node, fixed):
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                "a sub-query that may have several rows cannot stand for a value",
                place,
                detail="It is known to have one row if it aggregates all of its rows, ends in LIMIT 1, or compares "
                "each column of a primary key by which rows are updated.",
                hint="Select MAX(…) or another aggregate; or compare with IN.",
            )
        )


def _has_one_row(node: Node, fixed: frozenset[str]) -> bool:
    """`fixed` are the columns that have one value in all rows."""
    if any(fixed.issuperset(key) for key in node.upsert_keys):
        return True
    match node:
        case Values():
            return len(node.rows) == 1
        case Filter():
            [below] = node.inputs
            equal = (name for part in conjuncts_of(node.condition) for name in _equal_to_constants(part))
            return _has_one_row(below, fixed | {*equal})
        case Project():
            [below] = node.inputs
            columns = (item.expression for item in node.items if item.name in fixed)
            return _has_one_row(below, frozenset(each.name for each in columns if isinstance(each, InputColumn)))
        case Join(kind=JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI | JoinKind.MARK):
            has_one_partner = any({*node.right_keys}.issuperset(key) for key in node.right.upsert_keys)
            return (has_one_partner or not node.kind.gives_pairs) and _has_one_row(node.left, fixed)
        case _:
            return False


def _equal_to_constants(condition: Typed) -> list[str]:
    if not isinstance(condition, Call) or condition.function.name != "=" or loses_in_cast(condition):
        return []
    one, other = condition.arguments
    pairs = ((one, other), (other, one))
    return [column.name for column, value in pairs if isinstance(column, InputColumn) and _is_constant(value)]  # type: ignore[arg-type]


def _is_constant(value: Typed) -> bool:
    return not (columns_in(value) or functions_in(value) & RANDOM_FUNCTIONS or any(user_functions_in(value)))
