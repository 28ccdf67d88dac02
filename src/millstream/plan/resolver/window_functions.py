"""Window functions after FROM: rows of a table or a query with the windows that they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.definitions import definitions
from millstream.plan.operators.assign_sessions import AssignSessions
from millstream.plan.operators.assign_windows import AssignWindows
from millstream.plan.resolver.sql_text import sql_text
from millstream.plan.typed import Constant
from millstream.sql.types import TIMESTAMPS, TypeRoot
from millstream.sql.window_parser import DATA, GAP, OFFSET, PARTITION, TIME, WINDOW_PARAMETERS
from millstream.windows import WindowKind, Windows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from millstream.plan.operators.node import Node
    from millstream.plan.resolver.scope import Scope
    from millstream.source import Span

_MICROS: Final = 1000
_DESCRIPTOR: Final = "DESCRIPTOR"
_COLUMNS: Final = ("window_start", "window_end", "window_time")
_SESSION: Final = "SESSION"
_STEPS: Final = {"HOP": "SLIDE", "CUMULATE": "STEP"}
_HOW: Final = {
    "TUMBLE": "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTE))",
    "HOP": "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTE, INTERVAL '10' MINUTE)), first the step, then the "
    "size",
    "CUMULATE": "TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTE, INTERVAL '1' DAY)), first the step, "
    "then the size",
    "SESSION": "TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '10' MINUTE))",
}


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A call with its arguments by the names of their parameters."""

    name: str
    arguments: Mapping[str, exp.Expr]
    tree: exp.Expr

    @classmethod
    def of(cls, tree: exp.Anonymous, scope: Scope) -> WindowCall:
        name = tree.name
        parameters = WINDOW_PARAMETERS[name]
        found: dict[str, exp.Expr] = {}
        for place, argument in enumerate(tree.expressions):
            is_named = isinstance(argument, exp.Kwarg)
            parameter = argument.this.name if is_named else parameters[place] if place < len(parameters) else ""
            if parameter not in parameters or parameter in found:
                why = f"{name} has no parameter {parameter}" if is_named else f"{name} has too many arguments"
                why = f"{name} is given {parameter} twice" if parameter in found else why
                raise _refuse(why, scope.place(argument), f"Write {_HOW[name]}.")
            found[parameter] = argument.expression if is_named else argument
        missing = [each for each in parameters if each not in found and each != OFFSET]
        if missing:
            raise _refuse(f"{name} needs {' and '.join(missing)}", scope.place(tree), f"Write {_HOW[name]}.")
        return cls(name, found, tree)

    @property
    def data(self) -> exp.Expr:
        return self.arguments[DATA]


@dataclass(frozen=True, slots=True)
class Sessions:
    """What divides rows into sessions: the keys, the time column and the gap in milliseconds."""

    keys: tuple[str, ...]
    column: str
    gap: int


def no_table(call: WindowCall, scope: Scope) -> ScriptError:
    why = f"the first argument of {call.name} must be TABLE with a name, or a query in parentheses"
    return _refuse(why, scope.place(call.data), f"Write {_HOW[call.name]}.")


def assign_windows(call: WindowCall, node: Node, scope: Scope) -> Node:
    """`scope` has no columns: all arguments but the table are constants."""
    column, place = _time_column(call, node, scope), scope.place(call.tree)
    taken = set(node.column_types())
    names = [next(n for n in chain([name], (f"{name}{i}" for i in count())) if n not in taken) for name in _COLUMNS]
    partition: list[exp.Expr] = call.data.args.get(PARTITION) or []
    if call.name == _SESSION:
        keys = tuple(dict.fromkeys(_column_of(each, node, scope) for each in partition))
        sessions = Sessions(keys, column, _milliseconds(call, GAP, call.arguments[GAP], scope))
        return in_sessions(node, sessions, names, place)
    if partition:
        why = f"PARTITION BY is for SESSION; the windows of {call.name} are the same for all rows"
        raise _refuse(why, scope.place(partition[0]), "Leave it out, and add the columns to GROUP BY.")
    return windowed(node, column, windows_of(call, scope), names, place)


def in_sessions(node: Node, sessions: Sessions, names: Sequence[str], place: Span) -> AssignSessions:
    start, end, time = names
    declared = sql_text(definitions(node)[sessions.column])
    return AssignSessions(node, sessions.keys, sessions.column, sessions.gap, start, end, time, declared, place)


def windowed(node: Node, column: str, windows: Windows, names: Sequence[str], span: Span) -> AssignWindows:
    """`names` are those of the start, the end and the last moment."""
    start, end, time = names
    return AssignWindows(node, column, windows, start, end, time, sql_text(definitions(node)[column]), span)


def windows_of(call: WindowCall, scope: Scope) -> Windows:
    lengths = {
        parameter: _milliseconds(call, parameter, argument, scope)
        for parameter, argument in call.arguments.items()
        if parameter not in (DATA, TIME)
    }
    size, offset = lengths["SIZE"], lengths.get(OFFSET, 0)
    step = lengths[_STEPS[call.name]] if call.name in _STEPS else size
    if size % step:
        why = f"the size of {call.name} must be a multiple of its {_STEPS[call.name].lower()}"
        raise _refuse(why, scope.place(call.arguments["SIZE"]), f"Write {_HOW[call.name]}.")
    return Windows(WindowKind(call.name), size, step, offset)


def _milliseconds(call: WindowCall, parameter: str, argument: exp.Expr, scope: Scope) -> int:
    found = interval_of(argument, f"{parameter} of {call.name}", _HOW[call.name], scope)
    if parameter != OFFSET and found <= 0:
        raise _refuse(f"{parameter} of {call.name} must be a millisecond or more", scope.place(argument))
    return found


def interval_of(argument: exp.Expr, what: str, how: str, scope: Scope) -> int:
    """In milliseconds."""
    value = scope.resolve(argument)
    if not isinstance(value, Constant) or value.type.root is not TypeRoot.INTERVAL_DAY_TIME:
        why = f"{what} must be an interval of days, hours, minutes or seconds"
        raise _refuse(why, scope.place(argument), f"Write {how}.")
    assert isinstance(value.value, int)
    return value.value // _MICROS


def _time_column(call: WindowCall, node: Node, scope: Scope) -> str:
    """The column that DESCRIPTOR names, which has to be a time attribute."""
    argument = call.arguments[TIME]
    is_descriptor = isinstance(argument, exp.Anonymous) and argument.name.upper() == _DESCRIPTOR
    columns = argument.expressions if is_descriptor else []
    if len(columns) != 1 or not isinstance(columns[0], exp.Column) or columns[0].table:
        why = f"the second argument of {call.name} must be DESCRIPTOR with the name of a time column"
        raise _refuse(why, scope.place(argument), f"Write {_HOW[call.name]}.")
    name = _column_of(columns[0], node, scope)
    require_time(node, name, scope.place(columns[0]))
    return name


def _column_of(written: exp.Expr, node: Node, scope: Scope) -> str:
    name, types = written.name, node.column_types()
    if name not in types:
        why, detail = f'column "{name}" is not a column of the table', f"It has: {', '.join(types)}."
        raise ScriptError(Diagnostic(Code.UNDEFINED_COLUMN, why, scope.place(written), detail=detail))
    return name


def require_time(node: Node, name: str, place: Span) -> None:
    if name in node.rowtimes | node.proctimes:
        return
    type_ = node.column_types()[name]
    column = name if type_.root in TIMESTAMPS else "ts"
    why = f'windows need a time attribute, and column "{name}" is of type {type_}'
    detail = "Without a watermark, nothing says when a window has ended."
    hint = f"Declare WATERMARK FOR {column} AS {column} - INTERVAL '5' SECOND in its table, and pass the column on as "
    hint += "it is; or use a column AS PROCTIME()."
    raise ScriptError(Diagnostic(Code.UNSUPPORTED_STATEMENT, why, place, detail=detail, hint=hint))


def _refuse(why: str, place: Span, hint: str | None = None) -> ScriptError:
    return ScriptError(Diagnostic(Code.BAD_ARGUMENT, why, place, hint=hint))
