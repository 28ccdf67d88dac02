"""ROW_NUMBER() OVER (…), and ORDER BY and LIMIT behind a query: the first rows in an order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.node import SortColumn
from millstream.plan.operators.project import Project
from millstream.plan.operators.rank import MOST_ROWS, Rank, Ties
from millstream.plan.resolver.scope import Scope, ScopeColumn, column_reference, output_names
from millstream.sql.alternatives import ALTERNATIVES
from millstream.sql.types import NESTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from millstream.plan.operators.node import Node

    Select = Callable[[list[exp.Expr]], Node]
    """Builds the plan of a SELECT list."""

_ROW_NUMBER: Final = "ROW_NUMBER"
_RANKS: Final = (_ROW_NUMBER, "RANK", "DENSE_RANK")
_OF_A_WINDOW: Final = frozenset({"this", "partition_by", "order", "over"})
_SKIPPED: Final = "$rank"
"""The number of a row, where OFFSET passes over the first."""


class _Columns:
    """The columns of a SELECT list, and behind them what only an order or a partition reads."""

    def __init__(self, items: list[exp.Expr], names: list[str], scope: Scope) -> None:
        self.items = [_name(item, name) for item, name in zip(items, names, strict=True)]
        self._scope = scope
        self._names = {self._text(item): name for item, name in reversed(list(zip(items, names, strict=True)))}

    def column_for(self, expression: exp.Expr) -> str:
        text = self._text(expression)
        if text not in self._names:
            name = self._names[text] = f"$order{len(self.items)}"
            self.items.append(_name(expression, name))
        return self._names[text]

    def _text(self, item: exp.Expr) -> str:
        """The same for two ways to write a column; what is wrong with an expression is reported with all others."""
        try:
            return self._scope.bind(item.unalias(), aggregates=True).sql(dialect="flink")
        except ScriptError:
            return item.unalias().sql(dialect="flink")


def select_ranked(items: list[exp.Expr], select: Select, scope: Scope) -> Node:
    """A SELECT list, of which one item may be ROW_NUMBER() OVER (…)."""
    windows = [item for item in items if isinstance(item.unalias(), exp.Window)]
    if not windows:
        return select(items)
    _require_row_number(windows, scope)
    names = output_names(items)
    [place] = [place for place, item in enumerate(items) if item is windows[0]]
    window = windows[0].unalias()
    others = [(item, name) for item, name in zip(items, names, strict=True) if item is not windows[0]]
    columns = _Columns([item for item, _ in others], [name for _, name in others], scope)
    keys = tuple(dict.fromkeys(columns.column_for(key) for key in window.args.get("partition_by") or ()))
    order = _order(window.args["order"], columns.column_for)
    below = select(columns.items)
    _require_sortable(below, order, window.args["order"], scope)
    ranked = Rank(below, keys, order, Ties.CONTENTS, None, names[place], scope.place(window))
    return _only(ranked, names, scope)


def limit_rows(tree: exp.Query, items: list[exp.Expr], select: Select, scope: Scope) -> Node:
    """A query with what ORDER BY, LIMIT, FETCH and OFFSET say; what is not a number is refused elsewhere."""
    count, skipped = limit_of(limit := tree.args.get("limit")), limit_of(tree.args.get("offset"))
    if limit is None or count is None or skipped is None:
        return select(items)
    names = output_names(items)
    columns = _Columns(items, names, scope)
    order = _order(tree.args.get("order"), lambda written: _sorted_column(written, names, columns, tree, scope))
    below = select(columns.items)
    if (clause := tree.args.get("order")) is not None:
        _require_sortable(below, order, clause, scope)
    return _only(_first(below, order, _Rows(count, skipped), scope, limit), names, scope)


def limit_of(clause: exp.Expr | None) -> int | None:
    """The number that LIMIT, FETCH or OFFSET names, 0 for a clause that is not there; None if it is none."""
    match clause:
        case None:
            return 0
        case exp.Limit() | exp.Offset():
            number = clause.expression
        case exp.Fetch():
            options = clause.args.get("limit_options")
            if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
                return None
            number = clause.args.get("count") or exp.Literal.number(1)
    is_number = isinstance(number, exp.Literal) and not number.is_string and number.name.isdigit()
    return min(int(number.name), MOST_ROWS) if is_number else None


@dataclass(frozen=True, slots=True)
class _Rows:
    count: int
    skipped: int


def _first(node: Node, order: tuple[SortColumn, ...], rows: _Rows, scope: Scope, limit: exp.Expr) -> Node:
    span = scope.place(limit)
    if rows.count == 0:
        why, hint = "LIMIT 0 gives no rows", "Ask for one row or more."
        raise ScriptError(Diagnostic(Code.UNSUPPORTED_STATEMENT, why, span, hint=hint))
    last = rows.count + rows.skipped
    if not rows.skipped:
        return Rank(node, (), order, Ties.CONTENTS, last, None, span)
    ranked = Rank(node, (), order, Ties.CONTENTS, last, _SKIPPED, span)
    number = ScopeColumn("", _SKIPPED, ranked.columns[-1].type, _SKIPPED)
    condition = exp.GT(this=column_reference(_SKIPPED), expression=exp.Literal.number(rows.skipped))
    return Filter(ranked, Scope((number,), scope.script, scope.statement).resolve(condition), span)


def _order(clause: exp.Order | None, column_for: Callable[[exp.Expr], str]) -> tuple[SortColumn, ...]:
    """A column that comes twice decides nothing the second time."""
    found: dict[str, SortColumn] = {}
    for ordered in clause.expressions if clause is not None else ():
        name = column_for(ordered.this)
        found.setdefault(name, SortColumn(name, bool(ordered.args.get("desc")), not ordered.args.get("nulls_first")))
    return tuple(found.values())


def _sorted_column(written: exp.Expr, names: list[str], columns: _Columns, tree: exp.Query, scope: Scope) -> str:
    """ORDER BY names a column of the result, counts to one, or computes with what the query reads."""
    if isinstance(written, exp.Column) and not written.table and written.name in names:
        return written.name
    if isinstance(written, exp.Literal) and not written.is_string:
        if written.name.isdigit() and 1 <= int(written.name) <= len(names):
            return names[int(written.name) - 1]
        why = f"ORDER BY {written.name} is not the position of a column"
        detail = f"The query gives {len(names)} column{'' if len(names) == 1 else 's'}, counted from 1."
        raise ScriptError(Diagnostic(Code.UNDEFINED_COLUMN, why, scope.place(written), detail=detail))
    before = len(columns.items)
    name = columns.column_for(written)
    if len(columns.items) > before and (tree.args.get("distinct") or isinstance(tree, exp.Union)):
        why = "ORDER BY after DISTINCT or UNION takes columns of the result only"
        hint = "Select what is ordered by, or write the query in FROM: SELECT … FROM (SELECT DISTINCT …) ORDER BY …."
        raise ScriptError(Diagnostic(Code.UNDEFINED_COLUMN, why, scope.place(written), hint=hint))
    return name


def _require_row_number(windows: list[exp.Expr], scope: Scope) -> None:
    """All that is no row number is refused, each by its name."""
    refused = [(_unsupported(item.unalias()), item) for item in windows]
    if not any(what for what, _ in refused) and len(windows) > 1:
        refused = [("a second OVER in one SELECT", windows[1])]
    problems = [
        Diagnostic(
            Code.UNSUPPORTED_EXPRESSION,
            f"{what} is not supported yet",
            scope.place(item),
            hint=ALTERNATIVES.get(what),
        )
        for what, item in refused
        if what is not None
    ]
    if problems:
        raise ScriptError(problems)


def _unsupported(window: exp.Expr) -> str | None:
    """What it is, if it is no ROW_NUMBER() OVER (… ORDER BY …)."""
    function = window.this
    name = function.name.upper() if isinstance(function, exp.Anonymous) else ""
    has_more = any(value for part, value in window.args.items() if part not in _OF_A_WINDOW)
    if name not in _RANKS or has_more or function.expressions:
        return "OVER"
    if name != _ROW_NUMBER:
        return f"{name}()"
    return None if window.args.get("order") is not None else "ROW_NUMBER() without ORDER BY"


def _require_sortable(node: Node, order: Iterable[SortColumn], clause: exp.Expr, scope: Scope) -> None:
    types = node.column_types()
    for column in order:
        if types[column.name].root in NESTED:
            why = f"rows cannot be ordered by a value of type {types[column.name]}"
            hint = "Order by a part of it, e.g. an element or a field."
            raise ScriptError(Diagnostic(Code.TYPE_MISMATCH, why, scope.place(clause), hint=hint))


def _only(node: Node, names: Iterable[str], scope: Scope) -> Project:
    columns = {column.name: column for column in node.columns}
    return Project.of_columns(node, (columns[name] for name in names), scope.statement)


def _name(item: exp.Expr, name: str) -> exp.Expr:
    """In parentheses, as a sub-query would take the name for its own."""
    return exp.alias_(exp.Paren(this=item.unalias()), name, quoted=True)
