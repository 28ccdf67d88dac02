"""IN and EXISTS where they do not just drop rows: columns that are true, false or, of IN, unknown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from sqlglot import exp

from millstream.join_kinds import JoinKind
from millstream.plan.operators.node import OutputColumn
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.resolver.partners import Partners, join_partners, require_as_many_values, unknown_partners
from millstream.plan.resolver.scope import HIDDEN, Scope, ScopeColumn
from millstream.plan.resolver.value_queries import with_some_column
from millstream.sql.types import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.correlation import InnerQuery
    from millstream.source import Span
    from millstream.sql.types import DataType

_QUALIFIER: Final = f"{HIDDEN}mark"


@dataclass(frozen=True, slots=True)
class MarkQuery:
    inner: InnerQuery
    compared: tuple[exp.Expr, ...]
    """What IN looks for; nothing for EXISTS."""
    may_be_null: tuple[bool, ...]
    """Of each of these."""
    place: Span
    unknown_is_false: bool

    def __post_init__(self) -> None:
        require_as_many_values(self.compared, self.inner, self.place)

    @property
    def type(self) -> DataType:
        return BOOLEAN if self._may_be_unknown else BOOLEAN.not_null()

    @property
    def _may_be_unknown(self) -> bool:
        return bool(self.compared) and not self.unknown_is_false and (any(self.may_be_null) or self._nullable_items)

    @property
    def _nullable_items(self) -> bool:
        types = self.inner.node.column_types()
        return any(types[item].nullable for item in self.inner.items)

    def comparing(self, values: Sequence[exp.Expr]) -> Self:
        return replace(self, compared=tuple(values))

    def join(self, node: Node, outer: Scope, name: str) -> Node:
        given = node.columns
        found, *unknown = marks = [
            _Mark(f"{name}.{number}", partners)
            for number, partners in enumerate(
                [
                    Partners(self.inner, self.compared, self.place),
                    *(self._unknown(outer) if self._may_be_unknown else ()),
                ]
            )
        ]
        node = with_some_column(node, self.place)
        for mark in marks:
            node = mark.join(node, outer)
        scope = replace(outer, columns=(*outer.columns, *(mark.column for mark in marks)))
        value = scope.resolve(_three_valued(found.tree, [mark.tree for mark in unknown]))
        own = Project.of_columns(node, given, self.place)
        return replace(own, items=(*own.items, ProjectItem(name, value, value.type)))

    def _unknown(self, outer: Scope) -> list[Partners]:
        if len(self.compared) > 1:
            return [Partners(self.inner, self.compared, self.place, or_unknown=True)]
        return unknown_partners(self.inner, self.compared[0], outer, self.place)


@dataclass(frozen=True, slots=True)
class _Mark:
    """A column that says whether a row has a partner in a sub-query."""

    name: str
    partners: Partners

    @property
    def column(self) -> ScopeColumn:
        return ScopeColumn(_QUALIFIER, self.name, BOOLEAN.not_null(), self.name, is_merged=True)

    @property
    def tree(self) -> exp.Expr:
        return exp.column(exp.to_identifier(self.name, quoted=True), table=exp.to_identifier(_QUALIFIER, quoted=True))

    def join(self, node: Node, outer: Scope) -> Node:
        joined = join_partners(JoinKind.MARK, node, outer, self.partners)
        return replace(joined, mark=self.name, output=(*joined.output, OutputColumn(self.name, BOOLEAN.not_null())))


def _three_valued(found: exp.Expr, unknown: list[exp.Expr]) -> exp.Expr:
    if not unknown:
        return found
    branches = [exp.If(this=found, true=exp.true()), exp.If(this=exp.or_(*unknown), true=exp.null())]
    return exp.Case(ifs=branches, default=exp.false())
