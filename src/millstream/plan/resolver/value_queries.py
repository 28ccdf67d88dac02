"""Sub-queries that stand for a value: each row is joined with the one row, or none, that a sub-query has for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from millstream.join_kinds import JoinKind
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.resolver.correlation import InnerQuery, correlations
from millstream.plan.resolver.expressions import infer, resolve
from millstream.plan.resolver.joins import Relation, with_unique_names
from millstream.plan.resolver.outer_joins import join_with
from millstream.plan.resolver.scope import HIDDEN
from millstream.plan.typed import Constant, substitute
from millstream.sql.types import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.scope import Scope
    from millstream.source import Span
    from millstream.sql.types import DataType

_ROW: Final = f"{HIDDEN}row"
_TRUE: Final = Constant(value=True, type=BOOLEAN.not_null())


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
    def compared(self) -> tuple[exp.Expr, ...]:
        return ()

    def comparing(self, _: Sequence[exp.Expr]) -> Self:
        return self

    def join(self, node: Node, outer: Scope, name: str) -> Node:
        """The rows of `node`, with the value that each has as a column more."""
        node = with_some_column(node, self.place)
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


def with_some_column(node: Node, place: Span) -> Node:
    """SELECT without FROM has a row of no columns, which cannot be stored."""
    return node if node.columns else Project(node, (ProjectItem(_ROW, _TRUE, _TRUE.type),), place)
