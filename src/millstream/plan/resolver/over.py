"""SELECT with OVER: what windows read is computed below them, and the SELECT list above.

Windows that are partitioned and ordered alike are computed together, whatever their frames; others one after another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, Problems, ScriptError
from millstream.plan.functions.registry import AGGREGATES
from millstream.plan.operators.over import Over, OverOrder
from millstream.plan.resolver.over_functions import (
    WindowFunction,
    check_function,
    check_order,
    read_function,
    reference_to,
)
from millstream.plan.resolver.over_windows import Window, find_window, named_windows
from millstream.plan.resolver.scope import Scope, ScopeColumn, column_reference, output_names
from millstream.plan.resolver.select_columns import SelectColumns, only, order_columns, require_sortable
from millstream.plan.resolver.top_n import select_ranked

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.plan.operators.node import Node, SortColumn

    Select = Callable[[list[exp.Expr]], Node]
    """Builds the plan of a SELECT list."""

_PLACES: Final = (OverOrder.PROCESSING_TIME, OverOrder.EVENT_TIME, OverOrder.OTHER)
"""Rows wait for event time, and over rows that are updated no result is final."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One window function of the SELECT list, and the columns that it reads."""

    written: exp.Window
    window: Window
    keys: tuple[str, ...]
    order: tuple[SortColumn, ...]
    function: WindowFunction


def select_windows(tree: exp.Expr, items: list[exp.Expr], select: Select, scope: Scope) -> Node:
    """A SELECT list, in which functions may be computed OVER windows."""
    windows = [window for item in items for window in _windows_in(item)]
    if not windows:
        return select(items)
    named = named_windows(tree, scope)
    problems = Problems()
    found = [problems.of(partial(find_window, window, named, scope)) for window in windows]
    for window, known in zip(windows, found, strict=True):
        if known is not None:
            problems.of(partial(check_function, window, known, scope))
    problems.raise_all()
    known_windows = {id(window): known for window, known in zip(windows, found, strict=True) if known is not None}
    if (alone := _row_number(items, windows)) is not None:
        return select_ranked(items, alone, known_windows[id(alone)], select, scope)
    return _Selection(items, known_windows, scope).build(windows, select)


def _windows_in(item: exp.Expr) -> list[exp.Window]:
    """One inside another is refused where the outer one is read."""
    found = item.walk(prune=lambda node: isinstance(node, exp.Window | exp.Query))
    return [node for node in found if isinstance(node, exp.Window)]


def _row_number(items: list[exp.Expr], windows: list[exp.Window]) -> exp.Window | None:
    """The only window, if it is a row number: what is asked of it decides what it becomes."""
    [first, *others] = windows
    is_number = not others and isinstance(first.this, exp.Anonymous) and first.this.name.upper() == "ROW_NUMBER"
    return first if is_number and any(item.unalias().unnest() is first for item in items) else None


class _Selection:
    def __init__(self, items: list[exp.Expr], windows: dict[int, Window], scope: Scope) -> None:
        self._items = items
        self._names = output_names(items)
        self._windows = windows
        self._scope = scope
        plain = [(item, name) for item, name in zip(items, self._names, strict=True) if not _windows_in(item)]
        self._columns = SelectColumns([item for item, _ in plain], [name for _, name in plain], scope, self._names)
        self._results: dict[int, str] = {}
        """The column of each window function."""

    def build(self, windows: list[exp.Window], select: Select) -> Node:
        problems = Problems()
        calls = [problems.of(partial(self._call, window)) for window in windows]
        problems.raise_all()
        known = [call for call in calls if call is not None]
        rewritten = [self._above(item, name) for item, name in zip(self._items, self._names, strict=True)]
        below = select(self._columns.items)
        node = self._compute(below, known)
        scope = _scope_over(node, self._scope)
        return only(node, [(name, scope.resolve(item)) for name, item in rewritten], self._scope)

    def _call(self, written: exp.Window) -> _Call:
        window, scope = self._windows[id(written)], self._scope
        top = next(
            (name for item, name in zip(self._items, self._names, strict=True) if item.unalias().unnest() is written),
            None,
        )
        name = self._results[id(written)] = top or f"$over{len(self._results)}"
        keys = tuple(dict.fromkeys(self._columns.column_for(key) for key in window.partition))
        order = order_columns(window.order, self._columns.column_for)
        function = read_function(written, name, window.frame(scope), self._columns)
        return _Call(written, window, keys, order, function)

    def _above(self, item: exp.Expr, name: str) -> tuple[str, exp.Expr]:
        """An item over the columns below and the results of windows."""
        if not _windows_in(item):
            return name, column_reference(name)
        return name, self._rewrite(item.unalias().unnest())

    def _rewrite(self, node: exp.Expr) -> exp.Expr:
        if id(node) in self._results:
            return column_reference(self._results[id(node)])
        if not _windows_in(node):
            reads = any(isinstance(part, exp.Column) or _is_aggregate(part) for part in node.walk())
            return reference_to(self._columns.column_for(node), node) if reads else node.copy()
        rewritten = node.copy()
        pairs = zip(list(rewritten.iter_expressions()), list(node.iter_expressions()), strict=True)
        for child, original in pairs:
            child.replace(self._rewrite(original))
        return rewritten

    def _compute(self, below: Node, calls: list[_Call]) -> Node:
        """One operator for windows that differ in their frames only."""
        groups: dict[tuple[tuple[str, ...], tuple[SortColumn, ...]], list[_Call]] = {}
        for call in calls:
            groups.setdefault((call.keys, call.order), []).append(call)
        scope = _scope_over(below, self._scope)
        problems = Problems()
        built = [problems.of(partial(self._over, below, group, scope)) for group in groups.values()]
        problems.raise_all()
        overs = sorted((over for over in built if over is not None), key=lambda over: _PLACES.index(over.ordered_by))
        by_arrival = [over for over in overs if over.ordered_by is OverOrder.PROCESSING_TIME]
        if len(by_arrival) > 1:
            why = "windows by processing time with different PARTITION BY are not supported in one SELECT"
            raise ScriptError(
                Diagnostic(
                    Code.UNSUPPORTED_EXPRESSION,
                    why,
                    by_arrival[1].span,
                    detail="Rows leave the first one in another order than they arrived in.",
                    hint="Order them by an event-time attribute, or partition them by the same columns.",
                )
            )
        node = below
        for over in overs:
            node = over.with_inputs(node)
        return node

    def _over(self, below: Node, group: list[_Call], scope: Scope) -> Over:
        first = group[0]
        if first.window.order is not None:
            require_sortable(below, first.order, first.window.order, self._scope)
        problems = Problems()
        types = [problems.of(partial(scope.type_of_call, call.function.over_columns)) for call in group]
        problems.raise_all()
        made = tuple(call.function.call(type_) for call, type_ in zip(group, types, strict=True) if type_ is not None)
        over = Over(below, first.keys, first.order, made, self._scope.place(first.written))
        for call, one in zip(group, made, strict=True):
            check_order(over, one, self._scope.place(call.written))
        return over


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() in AGGREGATES


def _scope_over(node: Node, scope: Scope) -> Scope:
    known = tuple(ScopeColumn("", column.name, column.type, column.name) for column in node.columns)
    return Scope(known, scope.script, scope.statement, scope.functions)
