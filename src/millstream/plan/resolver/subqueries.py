"""IN and EXISTS below AND in WHERE: semi and anti joins of what FROM gives with the rows of a sub-query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.join_kinds import JoinKind
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.resolver.aggregation import has_aggregate
from millstream.plan.resolver.join_conditions import condition_of, conditions_in
from millstream.plan.resolver.joins import Condition, Relation, with_unique_names
from millstream.plan.resolver.outer_joins import join_with
from millstream.plan.resolver.scope import ScopeColumn
from millstream.plan.resolver.top_n import limit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.scope import Scope
    from millstream.source import Span

_ITEM: Final = "$in"


@dataclass(frozen=True, slots=True)
class Membership:
    """`x [NOT] IN (query)` or `[NOT] EXISTS (query)`."""

    tree: exp.In | exp.Exists
    negated: bool

    @property
    def query(self) -> exp.Expr:
        query: exp.Expr = self.tree.args["query"] if isinstance(self.tree, exp.In) else self.tree.this
        while isinstance(query, exp.Subquery) and not query.args.get("alias"):
            query = query.this
        return query

    @property
    def values(self) -> list[exp.Expr]:
        """What is looked for in the rows of the query; nothing where it is enough that there are some."""
        if isinstance(self.tree, exp.Exists):
            return []
        value = self.tree.this.unnest()
        return list(value.expressions) if isinstance(value, exp.Tuple) else [value]


def split_where(where: exp.Expr | None) -> tuple[list[exp.Expr], list[Membership]]:
    """The conditions that AND holds together, those with sub-queries apart."""
    plain: list[exp.Expr] = []
    members: list[Membership] = []
    for part in _conjuncts(where.this) if where is not None else ():
        membership = _membership_of(part)
        if membership is None:
            plain.append(part)
        else:
            members.append(membership)
    return plain, members


def _conjuncts(tree: exp.Expr) -> Iterable[exp.Expr]:
    bare = tree.unnest()
    if isinstance(bare, exp.And):
        return [part for side in (bare.this, bare.expression) for part in _conjuncts(side)]
    return [tree]


def _membership_of(tree: exp.Expr) -> Membership | None:
    negated, bare = False, tree.unnest()
    while isinstance(bare, exp.Not):
        negated, bare = not negated, bare.this.unnest()
    if isinstance(bare, exp.Exists) or (isinstance(bare, exp.In) and bare.args.get("query") is not None):
        return Membership(bare, negated)
    return None


@dataclass(frozen=True, slots=True)
class InnerQuery:
    """The rows of a sub-query, with the conditions of its WHERE that speak of columns around it."""

    node: Node
    scope: Scope
    items: tuple[str, ...]
    """The columns of `node` that the query selects."""
    correlated: tuple[exp.Expr, ...] = ()


def is_correlated(tree: exp.Expr, inner: Scope, outer: Scope) -> bool:
    """Whether an expression of a sub-query has a column that only the query around it knows."""
    columns = [column for column in tree.find_all(exp.Column) if not isinstance(column.this, exp.Star)]
    return any(not inner.knows(column) and outer.knows(column) for column in columns)


def name_columns_around(problems: Iterable[Diagnostic], member: Membership, outer: Scope) -> list[Diagnostic]:
    """What is wrong with a sub-query, where a column of the query around it stands elsewhere than in its WHERE."""
    columns = [column for column in member.query.find_all(exp.Column) if not isinstance(column.this, exp.Star)]
    around = {outer.place(column) for column in columns if outer.knows(column)}
    return [
        Diagnostic(
            Code.UNSUPPORTED_STATEMENT,
            "a column around a sub-query can be named in its WHERE only",
            problem.span,
            hint="Compare it in WHERE of the sub-query itself. Elements of an array are found with UNNEST or "
            "ARRAY_CONTAINS in the query around.",
        )
        if problem.code in (Code.UNDEFINED_COLUMN, Code.UNDEFINED_TABLE) and problem.span in around
        else problem
        for problem in problems
    ]


def check_correlated(tree: exp.Select, scope: Scope, member: Membership) -> None:
    """Rows of a query that looks at the row around it are found by a join: it can group and count nothing."""
    limit = tree.args.get("limit")
    if tree.args.get("offset") or (limit is not None and (member.values or not limit_of(limit))):
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
                hint="Group in a sub-query of FROM: EXISTS (SELECT 1 FROM (SELECT … GROUP BY k) AS g WHERE g.k = a.k).",
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
    conditions = [*_correlations(inner, outer, names), *_equalities(member, outer, inner, names, place)]
    return join_with(JoinKind.ANTI if member.negated else JoinKind.SEMI, node, relation, conditions)


def _correlations(inner: InnerQuery, outer: Scope, names: dict[str, str]) -> list[Condition]:
    """A name is a column of the sub-query, if it has one of that name."""
    own = [replace(column, reference=names[column.reference]) for column in inner.scope.columns]
    qualifiers, known = {column.qualifier for column in own if column.qualifier}, {column.name for column in own}
    around = [
        replace(column, is_merged=column.is_merged or column.name in known)
        for column in outer.columns
        if column.qualifier not in qualifiers
    ]
    scope = replace(outer, columns=(*own, *around))
    return [
        condition
        for tree in inner.correlated
        for condition in conditions_in(condition_of(tree, scope, "WHERE"), scope.place(tree))
    ]


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
