"""What the rows of a sub-query have to do with those of the query around it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.functions.comparison import comparison_type
from millstream.plan.resolver.join_conditions import condition_of, conditions_in
from millstream.plan.resolver.joins import loses_in_cast
from millstream.plan.resolver.memberships import split_where
from millstream.plan.resolver.scope import HIDDEN, ScopeColumn
from millstream.plan.typed import Call, Conversion, columns_in, substitute

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.joins import Condition
    from millstream.plan.resolver.scope import Scope
    from millstream.plan.typed import Typed

_KEY: Final = f"{HIDDEN}correlated"
_INNER: Final = f"{HIDDEN}inner."
_EXPRESSIONS: Final = ("expressions", "where", "group", "having", "order")
"""The parts of a query that are no tables."""


@dataclass(frozen=True, slots=True)
class InnerQuery:
    """The rows of a sub-query, with the conditions of its WHERE that speak of columns around it."""

    node: Node
    scope: Scope
    items: tuple[str, ...]
    """The columns of `node` that the query selects."""
    correlated: tuple[exp.Expr, ...] = ()

    @property
    def columns_around(self) -> list[exp.Column]:
        """What it names of the query around it."""
        columns = (column for tree in self.correlated for column in _own_columns(tree))
        return [column for column in columns if not self.scope.knows(column)]


def correlated_parts(tree: exp.Select, inner: Scope, outer: Scope) -> tuple[exp.Expr, ...]:
    """The conditions of a sub-query that speak of columns around it."""
    return tuple(part for part in split_where(tree.args.get("where"))[0] if is_correlated(part, inner, outer))


def is_correlated(tree: exp.Expr, inner: Scope, outer: Scope) -> bool:
    """Whether it has a column that only the query around knows, or that is said to be of one of its tables."""
    return any(not inner.knows(column) and _is_around(column, inner, outer) for column in _own_columns(tree))


def _is_around(column: exp.Column, inner: Scope, outer: Scope) -> bool:
    return outer.knows(column) or (column.table in outer.qualifiers and column.table not in inner.qualifiers)


def _own_columns(tree: exp.Expr) -> Iterator[exp.Column]:
    """Those outside of further sub-queries."""
    columns = (node for node in tree.walk(prune=lambda node: isinstance(node, exp.Query)))
    return (node for node in columns if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star))


def name_columns_around(problems: Iterable[Diagnostic], query: exp.Expr, outer: Scope) -> list[Diagnostic]:
    """What is wrong with a sub-query, where a column of the query around it stands elsewhere than in its WHERE."""
    columns = [column for column in query.find_all(exp.Column) if not isinstance(column.this, exp.Star)]
    around = {outer.place(column): column for column in columns if outer.knows(column)}
    missing = (Code.UNDEFINED_COLUMN, Code.UNDEFINED_TABLE)
    return [
        _column_around(problem, around[problem.span], query)
        if problem.code in missing and problem.span in around
        else problem
        for problem in problems
    ]


def _column_around(problem: Diagnostic, column: exp.Column, query: exp.Expr) -> Diagnostic:
    if _is_in_a_further_one(column, query):
        return Diagnostic(
            Code.UNSUPPORTED_STATEMENT,
            "a column two queries around a sub-query is not supported yet",
            problem.span,
            hint="Name only columns of the query right around it: join the tables of both sub-queries in one of them.",
        )
    if _is_looked_for(column, query):
        return Diagnostic(
            Code.UNSUPPORTED_STATEMENT,
            "IN with a column around the sub-query that it stands in is not supported yet",
            problem.span,
            hint="Write it into the query around, beside the sub-query; or, in the sub-query, EXISTS over a join.",
        )
    return Diagnostic(
        Code.UNSUPPORTED_STATEMENT,
        "a column around a sub-query can be named in its WHERE only",
        problem.span,
        hint="Compare it in WHERE of the sub-query itself. Elements of an array are found with UNNEST or "
        "ARRAY_CONTAINS in the query around.",
    )


def _is_looked_for(column: exp.Column, query: exp.Expr) -> bool:
    """Whether it is compared with the rows of another sub-query."""
    at: exp.Expr | None = column.find_ancestor(exp.In, exp.Select)
    return isinstance(at, exp.In) and at.args.get("query") is not None and at.find_ancestor(exp.Select) is query


def _is_in_a_further_one(column: exp.Column, query: exp.Expr) -> bool:
    """Whether the column is in a sub-query of an expression of `query`, not of its FROM."""
    at: exp.Expr = column
    passes_query = False
    while at.parent is not None and at.parent is not query:
        at = at.parent
        passes_query = passes_query or isinstance(at, exp.Query)
    return passes_query and isinstance(query, exp.Select) and at.arg_key in _EXPRESSIONS


def correlations(inner: InnerQuery, outer: Scope, names: Mapping[str, str]) -> list[Condition]:
    """The conditions, over rows that have columns of both; `names` is what those of the sub-query are called there."""
    scope = _scope_of_both(inner.scope, outer, names)
    return [
        condition
        for tree in inner.correlated
        for condition in conditions_in(condition_of(tree, scope, "WHERE"), scope.place(tree))
    ]


def _scope_of_both(inner: Scope, outer: Scope, names: Mapping[str, str]) -> Scope:
    """A name is a column of the sub-query, if it has one of that name."""
    own = [replace(column, reference=names[column.reference]) for column in inner.columns]
    qualifiers, known = {column.qualifier for column in own if column.qualifier}, {column.name for column in own}
    around = [
        replace(column, is_merged=column.is_merged or column.name in known)
        for column in outer.columns
        if column.qualifier not in qualifiers
    ]
    return replace(outer, columns=(*own, *around))


@dataclass(frozen=True, slots=True)
class Equality:
    """A part of a sub-query's WHERE that compares something of its own with something around it."""

    own: Typed
    """Over the rows of the sub-query, in the type in which it is compared: what is equal in it is one group."""
    around: exp.Expr


def equality_of_both(tree: exp.Expr, inner: Scope, outer: Scope) -> Equality | None:
    names = {column.reference: f"{_INNER}{column.reference}" for column in inner.columns}
    back = {called: name for name, called in names.items()}
    expression, written = condition_of(tree, _scope_of_both(inner, outer, names), "WHERE"), tree.unnest()
    if not isinstance(written, exp.EQ) or not isinstance(expression, Call) or loses_in_cast(expression):
        return None
    for (own, other), around in zip(_both_ways(expression), (written.expression, written.this), strict=True):
        columns = columns_in(own)
        if columns and columns <= back.keys() and back.keys().isdisjoint(columns_in(other)):
            compared = _compared(own, expression)
            return Equality(substitute(compared, lambda column: replace(column, name=back[column.name])), around)
    return None


def _both_ways(equality: Call) -> tuple[tuple[Typed, Typed], tuple[Typed, Typed]]:
    one, other = equality.arguments
    return (one, other), (other, one)  # type: ignore[return-value]


def _compared(side: Typed, equality: Call) -> Typed:
    common = comparison_type([part.type for part in equality.arguments])  # type: ignore[union-attr]
    type_ = replace(common, nullable=side.type.nullable)
    return side if side.type == type_ else Conversion(side, type_, attempt=False)


def require_equalities(trees: Sequence[exp.Expr], inner: Scope, outer: Scope) -> list[Equality]:
    """Rows of a sub-query are aggregated before they are joined: by what they are equal to."""
    found = [(tree, equality_of_both(tree, inner, outer)) for tree in trees]
    wrong = [tree for tree, equality in found if equality is None]
    if wrong:
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                "only equalities with columns around a sub-query that groups rows or has LIMIT are supported yet",
                outer.place(tree),
                detail="Rows are put together for each value that is compared.",
                hint="Compare in the same type, b.k = a.k; for other conditions, join the tables and GROUP BY the "
                "columns of the rows around it.",
            )
            for tree in wrong
        )
    return [equality for _, equality in found if equality is not None]


def grouped_by(
    equalities: Sequence[Equality], node: Node, names: Sequence[str], scope: Scope, items: Sequence[str] = ()
) -> InnerQuery:
    """The rows of `node`, of which a row around the sub-query has those that are equal to it in the columns `names`."""
    types = node.column_types()
    columns = tuple(ScopeColumn(_KEY, name, types[name], name) for name in names)
    conditions = tuple(
        exp.EQ(this=exp.Paren(this=equality.around.copy()), expression=exp.column(name, _KEY, quoted=True))
        for name, equality in zip(names, equalities, strict=True)
    )
    return InnerQuery(node, replace(scope, columns=columns), tuple(items), conditions)
