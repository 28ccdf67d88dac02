"""Sub-queries that stand for a value: each row is joined with the one row, or none, that a sub-query has for it."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

from sqlglot import exp

from millstream.join_kinds import JoinKind
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.resolver.correlation import InnerQuery, correlations
from millstream.plan.resolver.expressions import infer, resolve
from millstream.plan.resolver.joins import Relation, with_unique_names
from millstream.plan.resolver.outer_joins import join_with
from millstream.plan.resolver.scope import HIDDEN, WRITTEN, Scope, ScopeColumn, positions_of
from millstream.plan.typed import Constant, substitute
from millstream.sql.types import BOOLEAN

if TYPE_CHECKING:
    from millstream.errors import Problems
    from millstream.plan.operators.node import Node
    from millstream.source import Span
    from millstream.sql.types import DataType

_QUALIFIER: Final = f"{HIDDEN}subquery"
_ROW: Final = f"{HIDDEN}row"
_TRUE: Final = Constant(value=True, type=BOOLEAN.not_null())

Resolve: TypeAlias = Callable[[exp.Expr, Scope], "ValueQuery"]


@dataclass(frozen=True, slots=True)
class ValueQuery:
    inner: InnerQuery
    value: exp.Expr
    """Over the columns of the sub-query, which are NULL where it has no row."""
    place: Span

    @property
    def type(self) -> DataType:
        types = self.inner.node.column_types()
        return infer(self.value, lambda name: types[name].or_null())

    @property
    def columns_around(self) -> list[exp.Column]:
        """What it names of the query around it."""
        columns = (column for tree in self.inner.correlated for column in tree.find_all(exp.Column))
        return [column for column in columns if not self.inner.scope.knows(column)]

    def join(self, node: Node, outer: Scope, name: str) -> Node:
        """The rows of `node`, with the value that each has as a column more."""
        if not node.columns:  # SELECT without FROM: rows of no columns cannot be stored
            node = Project(node, (ProjectItem(_ROW, _TRUE, _TRUE.type),), self.place)
        [_, relation], [_, names] = with_unique_names(
            [Relation("", node, self.place), Relation("", self.inner.node, self.place)]
        )
        joined = join_with(JoinKind.LEFT, node, relation, correlations(self.inner, outer, names))
        types = joined.column_types()
        value = substitute(
            resolve(self.value, lambda column: types[names[column]]),
            lambda column: replace(column, name=names[column.name]),
        )
        own = Project.of_columns(joined, node.columns, self.place)
        return replace(own, items=(*own.items, ProjectItem(name, value, value.type)))


@dataclass(frozen=True, slots=True)
class Taken:
    """Expressions in which columns stand for sub-queries; the scope knows these columns."""

    trees: tuple[exp.Expr, ...]
    scope: Scope
    queries: Mapping[str, ValueQuery]
    """What is to be joined, by the name of its column."""
    subqueries: Subqueries

    def join(self, node: Node) -> Node:
        return join_values(node, self.queries, self.scope)


def join_values(node: Node, queries: Mapping[str, ValueQuery], scope: Scope) -> Node:
    for name, query in queries.items():
        node = query.join(node, scope, name)
    return node


@dataclass(frozen=True, slots=True)
class Subqueries:
    """How the sub-queries in the expressions of one SELECT become columns."""

    resolve: Resolve
    is_shared: bool = True
    """Whether two sub-queries of the same text are one."""
    known: Mapping[str, ScopeColumn] = field(default_factory=dict)
    """The columns of those that are joined already, by their texts."""

    def take(
        self,
        trees: Sequence[exp.Expr],
        scope: Scope,
        problems: Problems,
        is_wanted: Callable[[exp.Expr], bool] = lambda _: True,
    ) -> Taken:
        """What is wrong with a sub-query goes to `problems`, and NULL stands for it then."""
        known = dict(self.known)
        taken = {column.reference for column in scope.columns}
        names = (name for number in count() if (name := f"{_QUALIFIER}{number}") not in taken)
        queries: dict[str, ValueQuery] = {}
        holders = [exp.Paren(this=tree.copy()) for tree in trees]
        for holder in holders:
            for found in [each for each in subqueries_in(holder) if is_wanted(each)]:
                text = found.sql(dialect="flink")
                if text not in known or not self.is_shared:
                    query = problems.of(partial(self.resolve, found, scope))
                    if query is None:
                        found.replace(exp.Null())
                        continue
                    queries[name := next(names)] = query
                    known[text] = ScopeColumn(_QUALIFIER, name, query.type, name, is_merged=True)
                found.replace(_reference(known[text], found))
        columns = dict.fromkeys((*scope.columns, *known.values()))
        return Taken(
            tuple(holder.this for holder in holders),
            replace(scope, columns=tuple(columns)),
            queries,
            replace(self, known=known),
        )

    def only(self, names: Container[str]) -> Subqueries:
        return replace(self, known={text: column for text, column in self.known.items() if column.name in names})


def subqueries_in(tree: exp.Expr) -> list[exp.Expr]:
    """Those that stand for a value, but for what is inside of them."""
    return [node for node in tree.walk(prune=_is_query) if isinstance(node, exp.Subquery) and node.arg_key != "query"]


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query)


def _reference(column: ScopeColumn, written: exp.Expr) -> exp.Expr:
    """In parentheses, since a result that is no plain column has no name of its own."""
    name = exp.to_identifier(column.name, quoted=True)
    name.meta.update({**positions_of(written), WRITTEN: column.name})
    return exp.Paren(this=exp.column(name, table=exp.to_identifier(column.qualifier, quoted=True)))
