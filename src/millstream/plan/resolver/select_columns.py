"""The columns of a SELECT list, and behind them what only an order, a partition or a window reads."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.operators.node import SortColumn
from millstream.plan.operators.project import Project, ProjectItem
from millstream.sql.types import NESTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.scope import Scope
    from millstream.plan.typed import Typed


class SelectColumns:
    def __init__(self, items: list[exp.Expr], names: list[str], scope: Scope, others: Iterable[str] = ()) -> None:
        """`others` are names that columns above have."""
        self.items = [_name(item, name) for item, name in zip(items, names, strict=True)]
        self._scope = scope
        self._taken = {*names, *others}
        self._names = {self._text(item): name for item, name in reversed(list(zip(items, names, strict=True)))}

    def column_for(self, expression: exp.Expr) -> str:
        text = self._text(expression)
        if text not in self._names:
            numbered = (f"$order{number}" for number in count(len(self.items)))
            name = self._names[text] = next(name for name in numbered if name not in self._taken)
            self._taken.add(name)
            self.items.append(_name(expression, name))
        return self._names[text]

    def _text(self, item: exp.Expr) -> str:
        """The same for two ways to write a column; what is wrong with an expression is reported with all others."""
        try:
            return self._scope.bind(item.unalias(), aggregates=True).sql(dialect="flink")
        except ScriptError:
            return item.unalias().sql(dialect="flink")


def order_columns(clause: exp.Order | None, column_for: Callable[[exp.Expr], str]) -> tuple[SortColumn, ...]:
    """A column that comes twice decides nothing the second time."""
    found: dict[str, SortColumn] = {}
    for ordered in clause.expressions if clause is not None else ():
        name = column_for(ordered.this)
        found.setdefault(name, SortColumn(name, bool(ordered.args.get("desc")), not ordered.args.get("nulls_first")))
    return tuple(found.values())


def require_sortable(node: Node, order: Iterable[SortColumn], clause: exp.Expr, scope: Scope) -> None:
    types = node.column_types()
    for column in order:
        if types[column.name].root in NESTED:
            why = f"rows cannot be ordered by a value of type {types[column.name]}"
            hint = "Order by a part of it, e.g. an element or a field."
            raise ScriptError(Diagnostic(Code.TYPE_MISMATCH, why, scope.place(clause), hint=hint))


def only(node: Node, items: Iterable[tuple[str, Typed]], scope: Scope) -> Project:
    """Nothing but these columns."""
    return Project(node, tuple(ProjectItem(name, typed, typed.type) for name, typed in items), scope.statement)


def _name(item: exp.Expr, name: str) -> exp.Expr:
    """In parentheses, as a sub-query would take the name for its own."""
    return exp.alias_(exp.Paren(this=item.unalias()), name, quoted=True)
