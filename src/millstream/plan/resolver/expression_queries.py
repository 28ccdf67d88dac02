"""Sub-queries in expressions: each becomes a column of the rows, or of the groups, that it stands beside."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeAlias

from sqlglot import exp

from millstream.plan.resolver.scope import HIDDEN, WRITTEN, Scope, ScopeColumn, positions_of

if TYPE_CHECKING:
    from millstream.errors import Problems
    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.correlation import InnerQuery
    from millstream.sql.types import DataType

_QUALIFIER: Final = f"{HIDDEN}subquery"


class ExpressionQuery(Protocol):
    @property
    def inner(self) -> InnerQuery: ...

    @property
    def type(self) -> DataType: ...

    @property
    def compared(self) -> tuple[exp.Expr, ...]:
        """What is compared with its rows: expressions over the rows around it."""

    def comparing(self, values: Sequence[exp.Expr]) -> Self:
        """The same with other expressions."""

    def join(self, node: Node, outer: Scope, name: str) -> Node:
        """The rows of `node`, with what the sub-query is for each as a column more."""


@dataclass(frozen=True, slots=True)
class Written:
    """A sub-query as it stands in the script."""

    tree: exp.Expr
    unknown_is_false: bool

    @property
    def text(self) -> str:
        return f"{self.tree.sql(dialect='flink')} {self.unknown_is_false}"


Resolve: TypeAlias = Callable[[Written, Scope], ExpressionQuery]


@dataclass(frozen=True, slots=True)
class Taken:
    """Expressions in which columns stand for sub-queries; the scope knows these columns."""

    trees: tuple[exp.Expr, ...]
    scope: Scope
    queries: Mapping[str, ExpressionQuery]
    """What is to be joined, by the name of its column."""
    subqueries: Subqueries

    def join(self, node: Node) -> Node:
        return join_values(node, self.queries, self.scope)


def join_values(node: Node, queries: Mapping[str, ExpressionQuery], scope: Scope) -> Node:
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
        *,
        is_wanted: Callable[[exp.Expr], bool] = lambda _: True,
        are_conditions: bool = False,
    ) -> Taken:
        """What is wrong with a sub-query goes to `problems`, and NULL stands for it then."""
        known = dict(self.known)
        taken = {column.reference for column in scope.columns}
        names = (name for number in count() if (name := f"{_QUALIFIER}{number}") not in taken)
        queries: dict[str, ExpressionQuery] = {}
        holders = [exp.Paren(this=tree.copy()) for tree in trees]
        for holder in holders:
            for found in filter(is_wanted, subqueries_in(holder)):
                written = Written(found, unknown_is_false=_is_condition(found, of_tree=are_conditions))
                if written.text not in known or not self.is_shared:
                    around = replace(scope, columns=tuple(dict.fromkeys((*scope.columns, *known.values()))))
                    query = problems.of(partial(self.resolve, written, around))
                    if query is None:
                        found.replace(exp.Null())
                        continue
                    queries[name := next(names)] = query
                    known[written.text] = ScopeColumn(_QUALIFIER, name, query.type, name, is_merged=True)
                found.replace(_reference(known[written.text], found))
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
    """Those that stand for a value, IN and EXISTS among them, but for what is inside of them; the innermost first."""
    found = [node for node in tree.walk(prune=_is_query) if _is_value(node)]
    return sorted(found, key=lambda node: -node.depth)


def _is_value(node: exp.Expr) -> bool:
    if isinstance(node, exp.In):
        return node.args.get("query") is not None
    return isinstance(node, exp.Exists) or (isinstance(node, exp.Subquery) and node.arg_key != "query")


def _is_condition(node: exp.Expr, *, of_tree: bool) -> bool:
    """Whether it decides about rows, alone or with others: then it is all one if it is unknown or false."""
    while isinstance(node.parent, exp.And | exp.Or | exp.Paren):
        node = node.parent
    match node.parent:
        case None:
            return of_tree
        case exp.If():
            case = node.parent.parent
            return node.arg_key == "this" and isinstance(case, exp.Case) and case.this is None
        case _:
            return isinstance(node.parent, exp.Having | exp.Where)


def _is_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.Query)


def _reference(column: ScopeColumn, written: exp.Expr) -> exp.Expr:
    """In parentheses, since a result that is no plain column has no name of its own."""
    name = exp.to_identifier(column.name, quoted=True)
    name.meta.update({**positions_of(written), WRITTEN: column.name})
    return exp.Paren(this=exp.column(name, table=exp.to_identifier(column.qualifier, quoted=True)))
