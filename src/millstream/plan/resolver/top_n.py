"""ROW_NUMBER() OVER (…), and ORDER BY and LIMIT behind a query: the first rows in an order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.operators.filter import Filter
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.operators.rank import MOST_ROWS, Rank, Ties
from millstream.plan.operators.sort import Sort
from millstream.plan.resolver.scope import Scope, ScopeColumn, column_reference, output_names
from millstream.plan.resolver.select_columns import SelectColumns, order_columns, require_sortable
from millstream.sql.clause_parser import KEYWORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from millstream.plan.operators.node import Node, SortColumn
    from millstream.plan.resolver.over_windows import Window
    from millstream.plan.typed import Typed

    Select = Callable[[list[exp.Expr]], Node]
    """Builds the plan of a SELECT list."""

_SKIPPED: Final = "$rank"
"""The number of a row, where OFFSET passes over the first."""


def select_ranked(items: list[exp.Expr], number: exp.Window, window: Window, select: Select, scope: Scope) -> Node:
    """A SELECT list, of which one item is ROW_NUMBER() OVER (… ORDER BY …)."""
    names = output_names(items)
    [place] = [place for place, item in enumerate(items) if item.unalias().unnest() is number]
    others = [(item, name) for at, (item, name) in enumerate(zip(items, names, strict=True)) if at != place]
    columns = SelectColumns([item for item, _ in others], [name for _, name in others], scope, names)
    keys = tuple(dict.fromkeys(columns.column_for(key) for key in window.partition))
    assert window.order is not None
    order = order_columns(window.order, columns.column_for)
    below = select(columns.items)
    require_sortable(below, order, window.order, scope)
    ranked = Rank(below, keys, order, Ties.CONTENTS, None, names[place], scope.place(number))
    return _only(ranked, names, scope)


def limit_rows(tree: exp.Query, items: list[exp.Expr], select: Select, scope: Scope) -> Node:
    """A query with what ORDER BY, LIMIT, FETCH and OFFSET say; what is not a number is refused elsewhere."""
    count, skipped = limit_of(limit := tree.args.get("limit")), limit_of(tree.args.get("offset"))
    clause = tree.args.get("order")
    if (limit is None and clause is None) or count is None or skipped is None:
        return select(items)
    names = output_names(items)
    columns = SelectColumns(items, names, scope)
    order = order_columns(clause, lambda written: _sorted_column(written, names, columns, tree, scope))
    below = select(columns.items)
    if clause is not None:
        require_sortable(below, order, clause, scope)
    if limit is None:
        assert clause is not None
        keyword = clause.meta.get(KEYWORD)
        return Sort(below, order, tuple(names), scope.script.span(*keyword) if keyword else scope.place(clause))
    return _only(_first(below, order, _Rows(count, skipped), scope, limit), names, scope)


def first_of_each(
    tree: exp.Select, node: Node, keys: Mapping[str, Typed], scope: Scope
) -> tuple[Rank, tuple[str, ...]]:
    """The rows that LIMIT leaves of each group by `keys`, columns to be; and the columns that are selected."""
    names = output_names(tree.expressions)
    columns = SelectColumns(tree.expressions, names, scope)
    clause, limit = tree.args.get("order"), tree.args["limit"]
    order = order_columns(clause, lambda written: _sorted_column(written, names, columns, tree, scope))
    items = [(item.alias, scope.resolve(item.unalias())) for item in columns.items]
    made = (ProjectItem(name, value, value.type) for name, value in (*keys.items(), *items))
    below = Project(node, tuple(made), scope.statement)
    if clause is not None:
        require_sortable(below, order, clause, scope)
    return Rank(below, tuple(keys), order, Ties.CONTENTS, limit_of(limit), None, scope.place(limit)), tuple(names)


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


def _sorted_column(written: exp.Expr, names: list[str], columns: SelectColumns, tree: exp.Query, scope: Scope) -> str:
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


def _only(node: Node, names: Iterable[str], scope: Scope) -> Project:
    columns = {column.name: column for column in node.columns}
    return Project.of_columns(node, (columns[name] for name in names), scope.statement)
