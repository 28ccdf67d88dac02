"""The rows of a sub-query that belong to a row around it: what IN compares, and what makes a comparison unknown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.join_kinds import JoinKind
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.resolver.correlation import correlations
from millstream.plan.resolver.expressions import resolve
from millstream.plan.resolver.join_conditions import conditions_in
from millstream.plan.resolver.joins import Condition, Relation, with_unique_names
from millstream.plan.resolver.outer_joins import join_with
from millstream.plan.resolver.scope import ScopeColumn, column_reference
from millstream.plan.resolver.value_queries import with_some_column
from millstream.plan.typed import Constant
from millstream.sql.types import BOOLEAN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.operators.join import Join
    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.correlation import InnerQuery
    from millstream.plan.resolver.memberships import Membership
    from millstream.plan.resolver.scope import Scope
    from millstream.source import Span

ITEM: Final = "$in"
_EACH: Final = "$each"
_TRUE: Final = Constant(value=True, type=BOOLEAN.not_null())


@dataclass(frozen=True, slots=True)
class Partners:
    """The rows of a sub-query that have these values; without values, all that its WHERE leaves for a row."""

    inner: InnerQuery
    values: Sequence[exp.Expr]
    place: Span
    or_unknown: bool = False
    """Whether a row counts as well if it is unknown whether it has them."""


def join_members(node: Node, outer: Scope, member: Membership, inner: InnerQuery) -> Node:
    """The rows of `node` for which IN or EXISTS is true."""
    place, values = outer.place(member.tree), member.values
    require_as_many_values(values, inner, place)
    if not member.negated:
        return join_partners(JoinKind.SEMI, node, outer, Partners(inner, values, place))
    excluded = [Partners(inner, values, place, or_unknown=len(values) > 1)]
    if len(values) == 1:
        excluded += unknown_partners(inner, values[0], outer, place)
    for partners in excluded:
        node = join_partners(JoinKind.ANTI, node, outer, partners)
    return node


def unknown_partners(inner: InnerQuery, value: exp.Expr, outer: Scope, place: Span) -> list[Partners]:
    """What makes `value IN` unknown where it is not found: for a NULL each row, for other values a NULL among them.

    Only the latter is about all rows. A value that is not NULL has no key by which it would find a partner.
    """
    [item], types = inner.items, inner.node.column_types()
    found: list[Partners] = []
    if outer.resolve(value).type.nullable:
        each = Project.of_columns(inner.node, inner.node.columns, place)
        each = replace(each, items=(*each.items, ProjectItem(_EACH, _TRUE, _TRUE.type)))
        is_null = exp.Is(this=exp.Paren(this=value.copy()), expression=exp.null())
        only_null = exp.Case(ifs=[exp.If(this=is_null, true=exp.true())])
        found.append(Partners(replace(inner, node=each, items=(_EACH,)), [only_null], place))
    if types[item].nullable:
        is_null = exp.Is(this=column_reference(item), expression=exp.null())
        with_null = Filter(inner.node, resolve(is_null, types.get), place)
        found.append(Partners(replace(inner, node=with_null), (), place))
    return found


def join_partners(kind: JoinKind, node: Node, outer: Scope, partners: Partners) -> Join:
    inner, place = partners.inner, partners.place
    relations = [Relation("", node, place), Relation("", with_some_column(inner.node, place), place)]
    [_, relation], [_, names] = with_unique_names(relations)
    conditions = [*correlations(inner, outer, names), *_equalities(partners, outer, names)]
    return join_with(kind, node, relation, conditions)


def require_as_many_values(values: Sequence[exp.Expr], inner: InnerQuery, place: Span) -> None:
    if values and len(values) != len(inner.items):
        raise ScriptError(
            Diagnostic(
                Code.TYPE_MISMATCH,
                f"IN compares {_number(values, 'value')}, and the sub-query has {_number(inner.items, 'column')}",
                place,
                hint="Select as many columns as there are values before IN.",
            )
        )


def _equalities(partners: Partners, outer: Scope, names: dict[str, str]) -> list[Condition]:
    if not partners.values:
        return []
    types = partners.inner.node.column_types()
    items = [ScopeColumn(ITEM, name, types[name], names[name], is_merged=True) for name in partners.inner.items]
    scope = replace(outer, columns=(*outer.columns, *items))
    comparisons = (
        _comparison(value, item, scope, or_unknown=partners.or_unknown)
        for value, item in zip(partners.values, items, strict=True)
    )
    return [condition for tree in comparisons for condition in conditions_in(scope.resolve(tree), partners.place)]


def _number(things: Sequence[object], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _comparison(value: exp.Expr, item: ScopeColumn, scope: Scope, *, or_unknown: bool) -> exp.Expr:
    """NOT IN is not true if a comparison is unknown: a NULL on either side is as good as a partner."""
    other = exp.column(exp.to_identifier(item.name, quoted=True), table=exp.to_identifier(ITEM, quoted=True))
    equal: exp.Expr = exp.EQ(this=value.copy(), expression=other)
    if not or_unknown:
        return equal
    for side, nullable in ((value, scope.resolve(value).type.nullable), (other, item.type.nullable)):
        if nullable:
            equal = exp.Or(this=equal, expression=exp.Is(this=side.copy(), expression=exp.Null()))
    return equal
