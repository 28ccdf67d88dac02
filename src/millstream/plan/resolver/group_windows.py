"""Windows as they were written before there were window functions: `GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.operators.project import Project, ProjectItem
from millstream.plan.resolver.expressions import resolve
from millstream.plan.resolver.scope import Scope, ScopeColumn, column_reference, output_names
from millstream.plan.resolver.window_functions import Sessions, in_sessions, interval_of, require_time, windowed
from millstream.plan.typed import InputColumn
from millstream.windows import WindowKind, Windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.plan.operators.assign_sessions import AssignSessions
    from millstream.plan.operators.assign_windows import AssignWindows
    from millstream.plan.operators.node import Node

_SIZE: Final = {"TUMBLE": 1, "HOP": 2, "SESSION": 1}
"""The place of the window's length among the arguments; that of a step is before it."""
_HOW: Final = {
    "TUMBLE": "TUMBLE(ts, INTERVAL '10' MINUTE)",
    "HOP": "HOP(ts, INTERVAL '5' MINUTE, INTERVAL '1' HOUR)",
    "SESSION": "SESSION(ts, INTERVAL '10' MINUTE)",
}
_SESSION: Final = "SESSION"
_SETS: Final = (exp.GroupingSets, exp.Rollup, exp.Cube)
_START, _END, _TIME = "$window_start", "$window_end", "$window_time"
_PARTS: Final = {"_START": _START, "_END": _END, "_ROWTIME": _TIME, "_PROCTIME": _TIME}
_ASKING: Final = {f"{name}{part}": (name, column) for name in _SIZE for part, column in _PARTS.items()}


@dataclass(frozen=True, slots=True)
class GroupQuery:
    """What a SELECT with GROUP BY is made of."""

    node: Node
    items: Sequence[exp.Expr]
    group: exp.Group
    having: exp.Having | None
    scope: Scope


def resolve_group_window(query: GroupQuery) -> GroupQuery:
    """The query with the columns of the window in the place of the calls that make it and ask for its bounds."""
    calls = [call for part in query.group.expressions for call in part.find_all(exp.Anonymous) if _is_window(call)]
    if not calls:
        return query
    call, scope = calls[0], query.scope
    written = _text(call, scope)
    if other := next((each for each in calls[1:] if _text(each, scope) != written), None):
        raise _refuse("a second window in GROUP BY is not possible", other, scope, "Group by one window.")
    node = _in_sessions(query, call) if call.name.upper() == _SESSION else _windowed(query, call)
    known = tuple(ScopeColumn("", made.name, made.type, made.name) for made in node.made)
    answers = _Answers(written, call.name.upper(), scope)
    names = output_names(query.items)
    items = [
        exp.alias_(found, name, quoted=True) if (found := answers.put_into(item.unalias())) is not None else item
        for item, name in zip(query.items, names, strict=True)
    ]
    having = query.having
    if having is not None and (found := answers.put_into(having.this)) is not None:
        having = having.copy()
        having.set("this", found)
    keys = [_START, _END, *([_TIME] if answers.is_asked_for_time else [])]
    group = query.group.copy()
    for each in [each for part in group.expressions for each in part.find_all(exp.Anonymous) if _is_window(each)]:
        each.replace(exp.Tuple(expressions=[column_reference(key) for key in keys]))
    return GroupQuery(node, items, group, having, replace(scope, columns=(*scope.columns, *known)))


class _Answers:
    """Puts columns into the places of calls that ask for a window."""

    def __init__(self, written: str, name: str, scope: Scope) -> None:
        self.is_asked_for_time = False
        self._written = written
        self._name = name
        self._scope = scope

    def put_into(self, expression: exp.Expr) -> exp.Expr | None:
        """None if nothing is asked there."""
        found = exp.Paren(this=expression.copy())
        asking = [each for each in found.find_all(exp.Anonymous) if each.name.upper() in _ASKING]
        for each in asking:
            name, column = _ASKING[each.name.upper()]
            same = exp.Anonymous(this=name, expressions=[argument.copy() for argument in each.expressions])
            if name != self._name or _text(same, self._scope) != self._written:
                why = f"{each.name.upper()} asks for another window than that of GROUP BY"
                raise _refuse(why, each, self._scope, "Give it the arguments of the window in GROUP BY.")
            self.is_asked_for_time |= column == _TIME
            each.replace(column_reference(column))
        return found.this if asking else None


def _is_window(call: exp.Anonymous) -> bool:
    return call.name.upper() in _SIZE


def _text(call: exp.Anonymous, scope: Scope) -> str:
    """The same for two ways to write a column."""
    arguments = [
        scope.bind(argument) if isinstance(argument, exp.Column) else argument for argument in call.expressions
    ]
    return f"{call.name.upper()}({', '.join(argument.sql(dialect='flink') for argument in arguments)})"


def _windowed(query: GroupQuery, call: exp.Anonymous) -> AssignWindows:
    column, [step, *rest] = _arguments(query, call)
    windows = Windows(WindowKind(call.name.upper()), rest[0] if rest else step, step)
    return windowed(query.node, column, windows, (_START, _END, _TIME), query.scope.place(call))


def _in_sessions(query: GroupQuery, call: exp.Anonymous) -> AssignSessions:
    """The sessions of rows that have the other parts of GROUP BY in common."""
    column, [gap] = _arguments(query, call)
    scope, types = query.scope, query.node.column_types()
    others = [part for part in query.group.expressions if not _has_window(part)]
    if query.group.expressions and any(isinstance(part, _SETS) for part in query.group.expressions):
        raise _refuse("SESSION does not go with grouping sets", call, scope, "Group by the columns as they are.")
    bound = [scope.bind(part) for part in others]
    computed = [part for part in bound if not isinstance(part, exp.Column)]
    items = [ProjectItem(name, InputColumn(name, type_), type_) for name, type_ in types.items()]
    keys = {id(part): part.name if isinstance(part, exp.Column) else f"$key{place}" for place, part in enumerate(bound)}
    for part in computed:
        value = resolve(part, types.get)
        items.append(ProjectItem(keys[id(part)], value, value.type))
    node = Project(query.node, tuple(items), scope.statement) if computed else query.node
    sessions = Sessions(tuple(dict.fromkeys(keys.values())), column, gap)
    return in_sessions(node, sessions, (_START, _END, _TIME), scope.place(call))


def _has_window(part: exp.Expr) -> bool:
    return any(_is_window(call) for call in part.find_all(exp.Anonymous))


def _arguments(query: GroupQuery, call: exp.Anonymous) -> tuple[str, list[int]]:
    """The time column, and the lengths in milliseconds."""
    name, scope, node = call.name.upper(), query.scope, query.node
    if len(call.expressions) != _SIZE[name] + 1:
        raise _refuse(f"{name} in GROUP BY takes {_SIZE[name] + 1} arguments", call, scope, f"Write {_HOW[name]}.")
    written, *lengths = call.expressions
    time = scope.bind(written)
    if not isinstance(time, exp.Column):
        raise _refuse(f"the first argument of {name} must be a time column", written, scope, f"Write {_HOW[name]}.")
    require_time(node, time.name, scope.place(written))
    found = [interval_of(argument, f"an argument of {name}", _HOW[name], scope) for argument in lengths]
    if min(found) <= 0:
        raise _refuse(f"windows of {name} must be a millisecond or more", call, scope, f"Write {_HOW[name]}.")
    return time.name, found


def _refuse(why: str, tree: exp.Expr, scope: Scope, hint: str) -> ScriptError:
    return ScriptError(Diagnostic(Code.BAD_ARGUMENT, why, scope.place(tree), hint=hint))
