"""Joins that do not only give pairs: what ON says decides which rows are partners, and filters nothing by itself."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.conditions import all_of
from millstream.plan.functions.registry import FUNCTIONS, RANDOM_FUNCTIONS
from millstream.plan.functions.signatures import choose
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.resolver.joins import equality_of, join_on, loses_in_cast
from millstream.plan.resolver.python_conditions import leave_out_true, refuse_obstacles
from millstream.plan.typed import Call, Constant, InputColumn, columns_in, functions_in, rewrite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.join_kinds import JoinKind
    from millstream.plan.operators.join import Join
    from millstream.plan.operators.node import Node, OutputColumn
    from millstream.plan.resolver.joins import Condition, Relation
    from millstream.plan.typed import Typed
    from millstream.source import Span

_COMPUTED: Final = "$on"
_COMPUTE_EACH: Final = "Compute as much as possible of each side alone, and compare the results."


def join_with(kind: JoinKind, left: Node, relation: Relation, conditions: Sequence[Condition]) -> Join:
    """A condition on one side alone filters a side of which rows without a partner are not given.

    On the other side its rows lose their key where it is not true: a NULL has no partner.
    """
    right = relation.node
    keys: list[tuple[Typed, Typed]] = []
    guards: tuple[list[Condition], list[Condition]] = ([], [])
    rest: list[Condition] = []
    for condition in leave_out_true(conditions):
        _refuse_random(kind, condition)
        expression = condition.expression
        if (pair := equality_of(expression, left, right)) is not None:
            keys.append(pair)
            rest += [condition] if loses_in_cast(expression) else []
        elif _is_of(expression, right):
            right, guarded = (right, [condition]) if kind.keeps_right else (_filter(right, condition), [])
            guards[1].extend(guarded)
        elif _is_of(expression, left):
            left, guarded = (left, [condition]) if kind.keeps_left else (_filter(left, condition), [])
            guards[0].extend(guarded)
        else:
            rest.append(condition)
    if keys:
        lefts, rights = (reduce(_guard, conditions_, key) for conditions_, key in zip(guards, keys[0], strict=True))
        keys[0] = (lefts, rights)
    else:
        rest += [*guards[0], *guards[1]]
    output = [*_given(left, nullable=kind.keeps_right)]
    output += _given(right, nullable=kind.keeps_left) if kind.gives_pairs else []
    if rest:
        (left, right), rest = _compute_below((left, right), rest)
        refuse_obstacles(rest, f"of both sides in the condition of a {kind} join", _COMPUTE_EACH)
    joined = join_on(left, right, keys, relation.span)
    together = all_of(condition.expression for condition in rest) if rest else None
    return replace(joined, kind=kind, condition=together, output=tuple(output))


def _compute_below(sides: tuple[Node, Node], conditions: list[Condition]) -> tuple[tuple[Node, Node], list[Condition]]:
    """What only Spark can evaluate, of one side, becomes a column of that side."""
    from millstream.plan.vectorised.forms import obstacle_of  # loads Arrow, which most scripts do not need for a check

    taken = {column.name for side in sides for column in side.columns}
    names = (name for number in count() if (name := f"{_COMPUTED}{number}") not in taken)
    added: tuple[list[ProjectItem], list[ProjectItem]] = ([], [])

    def compute(part: Typed) -> Typed | None:
        if isinstance(part, InputColumn | Constant) or obstacle_of(part) is None:
            return None
        for side, items in zip(sides, added, strict=True):
            if columns_in(part) and _is_of(part, side):
                items.append(ProjectItem(next(names), part, part.type))
                return InputColumn(items[-1].name, part.type)
        return None

    found = [replace(condition, expression=rewrite(condition.expression, compute)) for condition in conditions]
    left, right = (_with_items(side, items, conditions[0].span) for side, items in zip(sides, added, strict=True))
    return (left, right), found


def _with_items(node: Node, items: Sequence[ProjectItem], span: Span) -> Node:
    own = Project.of_columns(node, node.columns, span)
    return replace(own, items=(*own.items, *items)) if items else node


def _given(node: Node, *, nullable: bool) -> list[OutputColumn]:
    columns = node.columns
    if not nullable:
        return list(columns)
    return [column.or_null() for column in columns]


def _is_of(expression: Typed, node: Node) -> bool:
    return columns_in(expression) <= {column.name for column in node.columns}


def _filter(node: Node, condition: Condition) -> Node:
    return Filter(node, condition.expression, condition.span)


def _guard(key: Typed, condition: Condition) -> Typed:
    """The key where the condition is true, else NULL."""
    function = FUNCTIONS["IF"]
    nothing = Constant(None, key.type.or_null())
    arguments = (condition.expression, key, nothing)
    return Call(function, choose(function, arguments), arguments, nothing.type)  # type: ignore[arg-type]


def _refuse_random(kind: JoinKind, condition: Condition) -> None:
    found = functions_in(condition.expression) & RANDOM_FUNCTIONS
    if found:
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_EXPRESSION,
                f"{min(found)} in the condition of a {kind} join is not supported",
                condition.span,
                detail="The condition is evaluated again when a row is retracted, and must give the same then.",
                hint="Compute the value in a sub-query, or filter with WHERE.",
            )
        )
