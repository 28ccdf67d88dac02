"""What ON, USING and WHERE say of the tables after FROM, each part of an AND by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.conditions import conjuncts_of
from millstream.plan.resolver.joins import Condition, Relation
from millstream.plan.resolver.scope import Scope, ScopeColumn, enumerate_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.typed import Typed
    from millstream.source import Span


def condition_of(written: exp.Expr, scope: Scope, clause: str) -> Typed:
    condition = scope.resolve(written)
    scope.require_boolean(written, condition.type, clause)
    return condition


def conditions_in(condition: Typed, span: Span) -> list[Condition]:
    return [Condition(part, span) for part in conjuncts_of(condition)]


def conditions_of_join(join: exp.Join, scope: Scope, relation: Relation, first: int) -> list[Condition]:
    """`relation` is what is joined; the scope has the columns before it, and its own from the `first` on."""
    found: list[Condition] = []
    if (on := join.args.get("on")) is not None:
        found += conditions_in(condition_of(on, scope, "ON"), scope.place(on))
    for name in join.args.get("using") or ():
        sides = replace(scope, columns=_columns_of_using(name, scope, relation, first))
        left, right = (_of_side(name.name, side) for side in ("left", "right"))
        found.append(Condition(sides.resolve(exp.EQ(this=left, expression=right)), scope.place(name)))
    return found


def merged_column(left: ScopeColumn, right: ScopeColumn, scope: Scope) -> Typed:
    """The column of USING in a full join: that of either side."""
    sides = replace(scope, columns=(replace(left, qualifier="left"), replace(right, qualifier="right")))
    names = (_of_side(column.name, side) for column, side in ((left, "left"), (right, "right")))
    first, second = names
    return sides.resolve(exp.Anonymous(this="COALESCE", expressions=[first, second]))


def _of_side(name: str, side: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(side, quoted=True))


def _columns_of_using(name: exp.Expr, scope: Scope, relation: Relation, first: int) -> tuple[ScopeColumn, ScopeColumn]:
    """A column of USING is one of what is joined, and of just one table before it."""
    before = [column for column in scope.columns[:first] if column.name == name.name and not column.is_merged]
    joined = [column for column in scope.columns[first:] if column.name == name.name]
    if joined and len(before) == 1:
        return replace(before[0], qualifier="left"), replace(joined[0], qualifier="right")
    if joined and before:
        problem = Diagnostic(
            Code.UNDEFINED_COLUMN,
            f'column "{name.name}" of USING is in more than one table before {enumerate_tables([relation.qualifier])}',
            scope.place(name),
            detail=f"It is a column of {enumerate_tables([column.qualifier for column in before])}.",
            hint=f"Say which with ON, e.g. ON {before[0].qualifier or 't'}.{name.name} = "
            f"{relation.qualifier or 'u'}.{name.name}.",
        )
        raise ScriptError(problem)
    missing = (*(() if before else scope.columns[:first]), *(() if joined else scope.columns[first:]))
    tables = tuple(dict.fromkeys(column.qualifier for column in missing))
    raise ScriptError(
        Diagnostic(
            Code.UNDEFINED_COLUMN,
            f'column "{name.name}" of USING is not a column of {enumerate_tables(tables, " or ")}',
            scope.place(name),
            detail=f"{'It has' if len(tables) == 1 else 'They have'}: {', '.join(column.name for column in missing)}.",
            hint="USING names a column of both sides; compare columns of different names with ON.",
        )
    )


def refuse_same_names(relations: Sequence[Relation]) -> None:
    seen: set[str] = set()
    for relation in relations:
        if relation.qualifier and relation.qualifier in seen:
            why = f'"{relation.qualifier}" appears twice in FROM'
            hint = f"Give one of the two another name: {relation.qualifier} AS other."
            raise ScriptError(Diagnostic(Code.DUPLICATE_TABLE, why, relation.span, hint=hint))
        seen.add(relation.qualifier)
