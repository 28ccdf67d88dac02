"""IN and EXISTS below AND in WHERE: semi and anti joins of what FROM gives with the rows of a sub-query."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.join_kinds import JoinKind
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.resolver.aggregation import has_aggregate
from millstream.plan.resolver.correlation import correlations
from millstream.plan.resolver.join_conditions import conditions_in
from millstream.plan.resolver.joins import Condition, Relation, with_unique_names
from millstream.plan.resolver.outer_joins import join_with
from millstream.plan.resolver.scope import ScopeColumn
from millstream.plan.resolver.top_n import limit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.correlation import InnerQuery
    from millstream.plan.resolver.memberships import Membership
    from millstream.plan.resolver.scope import Scope
    from millstream.source import Span

_ITEM: Final = "$in"


def aggregates_all(tree: exp.Select) -> bool:
    """Whether it has one row whatever it reads; HAVING may drop it."""
    if tree.args.get("group") is not None or tree.args.get("offset") is not None:
        return False
    limit = tree.args.get("limit")
    if limit is not None and not limit_of(limit):
        return False
    return tree.args.get("having") is not None or any(has_aggregate(item) for item in tree.expressions)


def check_correlated(tree: exp.Select, scope: Scope, *, takes_any_row: bool) -> None:
    """Rows of a query that looks at the row around it are found by a join: it can group and count nothing."""
    limit = tree.args.get("limit")
    if tree.args.get("offset") or (limit is not None and not (takes_any_row and limit_of(limit))):
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                "LIMIT and OFFSET in a sub-query that speaks of columns around it are not supported yet",
                scope.place(limit or tree.args["offset"]),
                hint="Number the rows in a sub-query of FROM: EXISTS (SELECT 1 FROM (SELECT …, ROW_NUMBER() OVER "
                "(PARTITION BY k ORDER BY …) AS rn FROM b) AS r WHERE r.rn <= 3 AND r.k = a.k).",
            )
        )
    parts = [part for part in ("group", "having") if tree.args.get(part)]
    if parts or any(has_aggregate(item) for item in tree.expressions):
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                "a sub-query that groups rows and speaks of columns around it is not supported yet",
                scope.place(tree),
                hint="Group in a sub-query of FROM: EXISTS (SELECT 1 FROM (SELECT … GROUP BY k) AS g WHERE g.k = a.k)."
                if takes_any_row
                else "Leave GROUP BY out: rows are aggregated for each value that is compared, b.k = a.k.",
            )
        )


def select_inner(tree: exp.Select, node: Node, scope: Scope, values: int) -> tuple[Node, tuple[str, ...]]:
    """The rows of a correlated query with what it selects beside their columns, if `values` are looked for."""
    if not values:
        return node, ()
    items = [scope.resolve(item.unalias()) for item in tree.expressions]
    names = tuple(f"{_ITEM}{number}" for number in range(len(items)))
    own = Project.of_columns(node, node.columns, scope.statement)
    added = (ProjectItem(name, item, item.type) for name, item in zip(names, items, strict=True))
    return replace(own, items=(*own.items, *added)), names


def join_members(node: Node, outer: Scope, member: Membership, inner: InnerQuery) -> Node:
    """The rows of `node` for which IN or EXISTS is true."""
    place = outer.place(member.tree)
    [_, relation], [_, names] = with_unique_names([Relation("", node, place), Relation("", inner.node, place)])
    conditions = [*correlations(inner, outer, names), *_equalities(member, outer, inner, names, place)]
    return join_with(JoinKind.ANTI if member.negated else JoinKind.SEMI, node, relation, conditions)


def _equalities(
    member: Membership, outer: Scope, inner: InnerQuery, names: dict[str, str], place: Span
) -> list[Condition]:
    values = member.values
    if not values:
        return []
    if len(values) != len(inner.items):
        raise ScriptError(
            Diagnostic(
                Code.TYPE_MISMATCH,
                f"IN compares {_number(values, 'value')}, and the sub-query has {_number(inner.items, 'column')}",
                place,
                hint="Select as many columns as there are values before IN.",
            )
        )
    types = inner.node.column_types()
    items = [ScopeColumn(_ITEM, name, types[name], names[name], is_merged=True) for name in inner.items]
    scope = replace(outer, columns=(*outer.columns, *items))
    return [
        condition
        for value, item in zip(values, items, strict=True)
        for condition in conditions_in(scope.resolve(_comparison(value, item, scope, negated=member.negated)), place)
    ]


def _number(things: Sequence[object], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _comparison(value: exp.Expr, item: ScopeColumn, scope: Scope, *, negated: bool) -> exp.Expr:
    """NOT IN is not true if a comparison is unknown: a NULL on either side is as good as a partner."""
    other = exp.column(exp.to_identifier(item.name, quoted=True), table=exp.to_identifier(_ITEM, quoted=True))
    equal: exp.Expr = exp.EQ(this=value.copy(), expression=other)
    if not negated:
        return equal
    for side, nullable in ((value, scope.resolve(value).type.nullable), (other, item.type.nullable)):
        if nullable:
            equal = exp.Or(this=equal, expression=exp.Is(this=side.copy(), expression=exp.Null()))
    return equal


def columns_of(node: Node) -> tuple[str, ...]:
    return tuple(column.name for column in node.columns)
