"""IN and EXISTS: what a query asks of another one, as it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Membership:
    """`x [NOT] IN (query)` or `[NOT] EXISTS (query)`."""

    tree: exp.In | exp.Exists
    negated: bool

    @property
    def query(self) -> exp.Expr:
        return query_of(self.tree.args["query"] if isinstance(self.tree, exp.In) else self.tree.this)

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


def spell_out_quantifiers(tree: exp.Expr) -> exp.Expr:
    """`x = ANY (query)` is IN, `x <> ALL (query)` is NOT IN."""
    return tree.transform(_as_membership) if tree.find(exp.Any, exp.All) is not None else tree


def _as_membership(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.EQ(expression=exp.Any(this=exp.Query() as query)):
            return exp.In(this=node.this, query=_in_parentheses(query))
        case exp.NEQ(expression=exp.All(this=exp.Query() as query)):
            return exp.Not(this=exp.In(this=node.this, query=_in_parentheses(query)))
        case _:
            return node


def _in_parentheses(query: exp.Query) -> exp.Expr:
    return query if isinstance(query, exp.Subquery) else exp.Subquery(this=query)


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


def query_of(tree: exp.Expr) -> exp.Expr:
    """A query without the parentheses around it."""
    while isinstance(tree, exp.Subquery) and not tree.args.get("alias"):
        tree = tree.this
    return tree
