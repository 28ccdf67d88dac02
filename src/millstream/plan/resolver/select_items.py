"""The SELECT list over what FROM and WHERE give: `*` spelt out, then projected or aggregated."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import Problems, ScriptError
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.resolver.aggregation import OF_STAR, Grouping, build_aggregate, distinct_rows, has_aggregate
from millstream.plan.resolver.group_windows import GroupQuery, resolve_group_window
from millstream.plan.resolver.over import select_windows
from millstream.plan.resolver.scope import Scope, ScopeColumn, column_reference, output_names
from millstream.plan.resolver.top_n import limit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.expression_queries import Subqueries


def select_items(tree: exp.Select, node: Node, scope: Scope, subqueries: Subqueries) -> Node:
    """SELECT with GROUP BY, HAVING, windows, DISTINCT, and the rows that LIMIT leaves."""
    items = [item for written in tree.expressions for item in _expand_star(written, scope)]

    def select(chosen: list[exp.Expr]) -> Node:
        selected = select_windows(tree, chosen, lambda inner: _select(tree, inner, node, scope, subqueries), scope)
        return distinct_rows(selected, scope) if tree.args.get("distinct") else selected

    return limit_rows(tree, items, select, scope)


def limit_combined(tree: exp.SetOperation, node: Node, scope: Scope) -> Node:
    """The result of a set operation has no columns but its own."""
    if tree.args.get("limit") is None and tree.args.get("order") is None:
        return node
    known = tuple(ScopeColumn("", column.name, column.type, column.name) for column in node.columns)
    of_result = replace(scope, columns=known)
    items: list[exp.Expr] = [column_reference(column.name) for column in node.columns]
    return limit_rows(tree, items, lambda chosen: project(node, chosen, of_result), of_result)


def _select(tree: exp.Select, items: list[exp.Expr], node: Node, scope: Scope, subqueries: Subqueries) -> Node:
    group, having = tree.args.get("group"), tree.args.get("having")
    if group is not None:
        found = resolve_group_window(GroupQuery(node, items, group, having, scope))
        written = Grouping(found.items, found.group, found.having)
        return build_aggregate(found.node, written, found.scope, subqueries)
    if having is not None or any(has_aggregate(item) for item in items):
        return build_aggregate(node, Grouping(items, group, having), scope, subqueries)
    problems = Problems()
    taken = subqueries.take(items, scope, problems)
    rows = problems.of(lambda: taken.join(node))
    projected = problems.of(lambda: project(rows or node, taken.trees, taken.scope))
    problems.raise_all()
    assert projected is not None
    return projected


def project(node: Node, items: Sequence[exp.Expr], scope: Scope) -> Project:
    problems = Problems()
    resolved = [problems.of(partial(scope.resolve, item.unalias())) for item in items]
    problems.raise_all()
    named = zip(output_names(items), (typed for typed in resolved if typed is not None), strict=True)
    return Project(node, tuple(ProjectItem(name, typed, typed.type) for name, typed in named), scope.statement)


def _expand_star(item: exp.Expr, scope: Scope) -> list[exp.Expr]:
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
        if item.table not in scope.qualifiers:
            raise ScriptError(scope.wrong_table(item))
        chosen = [column for column in scope.columns if column.qualifier == item.table]
    elif isinstance(item, exp.Star):
        chosen = _with_merged_first([column for column in scope.columns if not column.is_merged], scope)
    else:
        return [item]
    references: list[exp.Expr] = [_star_reference(column, scope) for column in chosen]
    for reference in references:
        reference.this.meta[OF_STAR] = True
    return references


def _with_merged_first(columns: list[ScopeColumn], scope: Scope) -> list[ScopeColumn]:
    """As the standard has it: the columns of USING stand before all others, also before others of their names."""
    merged = {column.name for column in scope.columns if column.is_merged}
    first = {column.name: column.reference for column in reversed(columns) if column.name in merged}
    return sorted(columns, key=lambda column: first.get(column.name) != column.reference)


def _star_reference(column: ScopeColumn, scope: Scope) -> exp.Column:
    """Qualified where there is something to tell it from."""
    if len(scope.qualifiers) == 1:
        return column_reference(column.name)
    qualifier = exp.to_identifier(column.qualifier, quoted=True)
    return exp.column(exp.to_identifier(column.name, quoted=True), table=qualifier)
