"""The functions before OVER: what they read of the rows below, and what they need of their window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.aggregates.registry import AGGREGATES, aggregate_function
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.functions.registry import FUNCTIONS
from millstream.plan.operators.over import SHIFTS, Over, OverCall, OverOrder, WindowFrame
from millstream.plan.resolver.expressions import OVER_WINDOW
from millstream.plan.resolver.scope import column_reference
from millstream.spelling import nearest
from millstream.sql.functions import Category
from millstream.sql.types import BIGINT

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.plan.resolver.over_windows import Window
    from millstream.plan.resolver.scope import Scope
    from millstream.plan.resolver.select_columns import SelectColumns
    from millstream.source import Span
    from millstream.sql.types import DataType

_WITH_DEFAULT: Final = 3


@dataclass(frozen=True, slots=True)
class WindowFunction:
    over_columns: exp.Expr
    """The function over the columns below, by which its type is found."""
    call: Callable[[DataType], OverCall]


def read_function(written: exp.Window, name: str, frame: WindowFrame, columns: SelectColumns) -> WindowFunction:
    """`name` is the column of its result; `columns` get what it reads."""
    function = _plain(written.this)
    if FUNCTIONS[function.name.upper()].category is Category.AGGREGATE:
        return _read_aggregate(written, name, frame, columns)
    return _read_window_function(function, name, columns)


def _plain(function: exp.Expr) -> exp.Expr:
    """Without FILTER and IGNORE NULLS around it."""
    inner = function.this if isinstance(function, exp.Filter) else function
    return inner.this if isinstance(inner, exp.IgnoreNulls | exp.RespectNulls) else inner


def check_function(written: exp.Window, window: Window, scope: Scope) -> None:
    function = _plain(written.this)
    name = function.name.upper() if isinstance(function, exp.Anonymous) else ""
    known = FUNCTIONS.get(name)
    if known is None or known.category not in (Category.WINDOW, Category.AGGREGATE) or name not in _names():
        what = name or function.key.upper()
        near = nearest(what, _names())
        hint = f"Did you mean {near}?" if near else f"These are: {', '.join(sorted(_names()))}."
        raise _refuse(f"{what} cannot be computed OVER a window", written, scope, hint)
    if known.category is Category.AGGREGATE:
        if isinstance(written.this, exp.Filter):
            condition = written.this.expression.this
            scope.require_boolean(condition, scope.type_of_call(condition), "FILTER")
        if not any(_is_aggregate(part) for part in function.walk() if part is not function):
            scope.type_of_call(function)
        return
    scope.type_of_call(_window_call(function.copy()))
    if written.this.find(exp.IgnoreNulls, exp.RespectNulls) is not None:
        raise _refuse(f"{name} does not take IGNORE NULLS or RESPECT NULLS", written, scope, "Leave the words out.")
    if isinstance(written.this, exp.Filter):
        raise _refuse(f"{name} does not take FILTER", written, scope)
    if window.order is None:
        hint = "Add ORDER BY, with a column AS PROCTIME() for the order of arrival."
        raise _refuse(f"{name}() without ORDER BY is not supported yet", written, scope, hint)
    if written.args.get("spec") is not None:
        raise _refuse(f"{name} does not take ROWS or RANGE", written.args["spec"], scope, "Leave the frame out.")


def _names() -> list[str]:
    window_functions = [name for name, function in FUNCTIONS.items() if function.category is Category.WINDOW]
    return window_functions + [one.name for record in AGGREGATES.values() for one in record.declarations]


def check_order(over: Over, call: OverCall, place: Span) -> None:
    """What a window needs of the column by which it is ordered."""
    [below] = over.inputs
    by_arrival = [column for column in over.order if column.name in below.proctimes]
    if by_arrival and over.ordered_by is not OverOrder.PROCESSING_TIME:
        is_alone = len(over.order) == 1 and not over.order[0].descending
        what = "FOLLOWING" if call.frame is not None else call.function
        why = f"{what if is_alone else 'ORDER BY … DESC, or by other columns too,'} by processing time is not supported"
        detail = (
            "Rows that are to come would have to be waited for."
            if is_alone
            else "Rows can only be taken in the order in which they arrive."
        )
        hint = (
            "Order by an event-time attribute or another column, or look back only."
            if is_alone
            else ("Write ORDER BY with the PROCTIME() column alone.")
        )
        raise ScriptError(Diagnostic(Code.UNSUPPORTED_EXPRESSION, why, place, detail, hint=hint))
    if call.frame is None or not call.frame.by_time:
        return
    if (call.frame.preceding and not over.is_final) or call.frame.following:
        why = "RANGE with an interval is only supported back from an ascending time attribute"
        raise ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_EXPRESSION,
                why,
                place,
                detail="Time attributes are PROCTIME() and, where no row is updated, the WATERMARK column of a table.",
                hint="Order by it alone, or write ROWS with a number of rows.",
            )
        )


def _read_window_function(function: exp.Expr, name: str, columns: SelectColumns) -> WindowFunction:
    """One that is computed over windows only; constants stay where they are."""
    kind = function.name.upper()
    value, *others = function.expressions or [None]
    if kind not in SHIFTS:
        parameters = tuple(argument.name for argument in function.expressions)
        return WindowFunction(
            _window_call(function.copy()), lambda type_: OverCall(name, kind, type_, parameters=parameters)
        )
    if value is None:
        return WindowFunction(_window_call(function.copy()), lambda type_: OverCall(name, kind, type_))
    argument = columns.column_for(value)
    has_default = len(function.expressions) == _WITH_DEFAULT and not isinstance(others[1], exp.Null)
    default = columns.column_for(others[1]) if has_default else None
    typed = function.copy()
    references = [reference_to(argument, value), *(other.copy() for other in others)]
    if default is not None:
        references[2] = reference_to(default, others[1])
    typed.set("expressions", references)
    offset = others[0].name if others else "1"
    return WindowFunction(
        _window_call(typed),
        lambda type_: OverCall(name, kind, type_, argument, parameters=(offset,), default=default),
    )


def _read_aggregate(written: exp.Window, name: str, frame: WindowFrame, columns: SelectColumns) -> WindowFunction:
    """As in GROUP BY: a row that FILTER drops is given as NULL, unless NULL is a value or values are compared."""
    function = _plain(written.this)
    record = aggregate_function(function.name.upper())
    condition = written.this.expression.this if isinstance(written.this, exp.Filter) else None
    first, *constants = function.expressions or [None]
    distinct = isinstance(first, exp.Distinct)
    if distinct:
        first, *more = first.expressions
        constants = [*more, *constants]
    ignores = written.this.find(exp.IgnoreNulls) is not None
    argument = first.this if isinstance(first, exp.IgnoreNulls | exp.RespectNulls) else first
    parameters = record.complete(tuple(constant.name for constant in constants))
    typed = function.copy()
    if isinstance(argument, exp.Star) and record.star is not None:
        if condition is None:
            star = record.star
            return WindowFunction(typed, lambda _: OverCall(name, star, BIGINT.not_null(), frame=frame))
        argument = exp.Literal.number(1)
    if argument is None:
        return WindowFunction(typed, lambda type_: OverCall(name, record.name, type_, frame=frame))
    filter_ = None
    typed_argument = argument
    if record.keeps_nulls or distinct:
        filter_ = _filter(argument, condition, columns, nulls=not (ignores and record.keeps_nulls))
    elif condition is not None:
        argument = exp.Case(ifs=[exp.If(this=condition.copy(), true=argument.copy())])
    column = columns.column_for(argument)
    typed.set("expressions", [reference_to(column, typed_argument), *(one.copy() for one in constants)])
    return WindowFunction(
        typed, lambda type_: OverCall(name, record.name, type_, column, distinct, parameters, filter_, frame=frame)
    )


def _filter(argument: exp.Expr, condition: exp.Expr | None, columns: SelectColumns, *, nulls: bool) -> str | None:
    present = None if nulls else exp.Not(this=exp.Is(this=argument.copy(), expression=exp.Null()))
    conditions = [part.copy() for part in (condition, present) if part is not None]
    return columns.column_for(exp.and_(*conditions)) if conditions else None


def reference_to(name: str, written: exp.Expr) -> exp.Column:
    """A column below, which an error shows as what is written."""
    reference = column_reference(name)
    places = [part.meta for part in written.walk() if "start" in part.meta]
    if places:
        start, end = min(place["start"] for place in places), max(place["end"] for place in places)
        reference.this.meta.update({"start": start, "end": end})
    return reference


def _is_aggregate(node: exp.Expr) -> bool:
    known = FUNCTIONS.get(node.name.upper()) if isinstance(node, exp.Anonymous) else None
    return known is not None and known.is_aggregate


def _window_call(function: exp.Expr) -> exp.Expr:
    function.meta[OVER_WINDOW] = True
    return function


def _refuse(why: str, place: exp.Expr, scope: Scope, hint: str | None = None) -> ScriptError:
    return ScriptError(Diagnostic(Code.UNSUPPORTED_EXPRESSION, why, scope.place(place), hint=hint))
