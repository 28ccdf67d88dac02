"""What ON, USING and WHERE say of the tables after FROM, each part of an AND by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.resolver.joins import Condition, Relation
from millstream.plan.resolver.scope import Scope, column_reference
from millstream.plan.typed import Call

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from millstream.plan.typed import Typed
    from millstream.source import Span


def condition_of(written: exp.Expr, scope: Scope, clause: str) -> Typed:
    condition = scope.resolve(written)
    scope.require_boolean(written, condition.type, clause)
    return condition


def conditions_in(condition: Typed, span: Span) -> list[Condition]:
    return [Condition(part, span) for part in _conjuncts(condition)]


def _conjuncts(expression: Typed) -> Iterable[Typed]:
    """The parts that AND holds together."""
    if isinstance(expression, Call) and expression.function.name == "AND":
        return [part for argument in expression.arguments for part in _conjuncts(argument)]  # type: ignore[arg-type]
    return [expression]


def conditions_of_join(join: exp.Join, scope: Scope, relation: Relation) -> list[Condition]:
    """`relation` is what is joined; the scope has it and the tables before it."""
    found: list[Condition] = []
    if (on := join.args.get("on")) is not None:
        found += conditions_in(condition_of(on, scope, "ON"), scope.place(on))
    for name in join.args.get("using") or ():
        left = column_reference(name.name)
        right = exp.column(name.copy(), table=exp.to_identifier(relation.qualifier, quoted=True))
        for column in (left, right):
            column.this.meta.update(name.meta)
        found.append(Condition(scope.resolve(exp.EQ(this=left, expression=right)), scope.place(name)))
    return found


def refuse_same_names(relations: Sequence[Relation]) -> None:
    seen: set[str] = set()
    for relation in relations:
        if relation.qualifier and relation.qualifier in seen:
            why = f'"{relation.qualifier}" appears twice in FROM'
            hint = f"Give one of the two another name: {relation.qualifier} AS other."
            raise ScriptError(Diagnostic(Code.DUPLICATE_TABLE, why, relation.span, hint=hint))
        seen.add(relation.qualifier)
