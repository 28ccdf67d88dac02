"""OVER (…) and WINDOW w AS (…): what a window is partitioned and ordered by, and which rows are in its frames."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.plan.operators.over import WindowFrame
from millstream.plan.resolver.literals import constant
from millstream.spelling import nearest
from millstream.sql.types import TypeRoot

if TYPE_CHECKING:
    from sqlglot import exp

    from millstream.plan.resolver.scope import Scope
    from millstream.plan.typed import Constant

_KNOWN: Final = frozenset({"this", "alias", "partition_by", "order", "spec", "over"})
_UNBOUNDED: Final = "UNBOUNDED"
_CURRENT_ROW: Final = "CURRENT ROW"
_PRECEDING: Final = "PRECEDING"
_FOLLOWING: Final = "FOLLOWING"
_MICROS_PER_MILLI: Final = 1000
_HOW: Final = "Write e.g. ROWS BETWEEN 5 PRECEDING AND CURRENT ROW."


@dataclass(frozen=True, slots=True)
class Window:
    """A window with what it takes from the named one that it is based on."""

    partition: tuple[exp.Expr, ...]
    order: exp.Order | None
    spec: exp.WindowSpec | None

    def frame(self, scope: Scope) -> WindowFrame:
        """Without ORDER BY all rows of the partition are peers."""
        if self.spec is None:
            return WindowFrame(following=None if self.order is None else 0)
        spec = self.spec
        kind = spec.args["kind"]
        if kind == "GROUPS" or spec.args.get("exclude"):
            raise _error("EXCLUDE" if spec.args.get("exclude") else "GROUPS", spec, scope, _HOW)
        by_time = kind == "RANGE"
        preceding = _bound(spec, "start", _PRECEDING, scope, by_time=by_time)
        following: int | None = 0
        if spec.args.get("end") is not None:
            following = _bound(spec, "end", _FOLLOWING, scope, by_time=by_time)
        return WindowFrame(by_time, preceding, following)


def find_window(written: exp.Window, named: dict[str, exp.Window], scope: Scope) -> Window:
    """A window as it is written, on top of the one that it names."""
    found = Window((), None, None)
    for window in reversed(_bases(written, named, scope)):
        extra = [part for part, value in window.args.items() if value and part not in _KNOWN]
        if extra:
            raise _error(f"{extra[0].upper()} in OVER", written, scope, "Leave it out.")
        found = replace(
            found,
            partition=tuple(window.args.get("partition_by") or ()) or found.partition,
            order=window.args.get("order") or found.order,
            spec=window.args.get("spec") or found.spec,
        )
    return found


def named_windows(tree: exp.Expr, scope: Scope) -> dict[str, exp.Window]:
    found: dict[str, exp.Window] = {}
    for window in tree.args.get("windows") or ():
        if window.name in found:
            why = f'WINDOW names "{window.name}" twice'
            place = scope.place(window.this)
            raise ScriptError(Diagnostic(Code.UNSUPPORTED_STATEMENT, why, place, hint="Rename one of the two."))
        found[window.name] = window
    return found


def _bases(written: exp.Window, named: dict[str, exp.Window], scope: Scope) -> list[exp.Window]:
    """The window, and those that it is based on. A named window may only name one before it."""
    chain, known = [written], list(named)
    while (alias := chain[-1].args.get("alias")) is not None:
        if len(chain) > 1:
            known = known[: known.index(chain[-1].name)]
        if alias.name not in known:
            near = nearest(alias.name, known)
            why = f'window "{alias.name}" is not defined'
            hint = f'Did you mean "{near}"?' if near else f"Add WINDOW {alias.name} AS (…) behind FROM and WHERE."
            raise ScriptError(Diagnostic(Code.UNDEFINED_COLUMN, why, scope.place(alias), hint=hint))
        chain.append(named[alias.name])
    return chain


def _bound(spec: exp.WindowSpec, end: str, side: str, scope: Scope, *, by_time: bool) -> int | None:
    """How far a frame reaches; None is all the way."""
    value, written = spec.args[end], spec.args.get(f"{end}_side")
    if value == _CURRENT_ROW:
        return 0
    if written != side:
        what = "a frame that ends before its row" if side == _FOLLOWING else "a frame that begins behind its row"
        raise _error(what, spec, scope, _HOW)
    if value == _UNBOUNDED:
        return None
    literal = constant(value)
    if literal is None or not isinstance(literal.value, int) or literal.value < 0:
        raise _error(f"a frame whose length is no {'interval' if by_time else 'number'}", value, scope, _HOW)
    return _milliseconds(literal, value, scope) if by_time else _rows(literal, value, scope)


def _rows(literal: Constant, written: exp.Expr, scope: Scope) -> int:
    if isinstance(literal.value, int) and literal.type.root in (TypeRoot.INT, TypeRoot.BIGINT):
        return literal.value
    raise _error("ROWS with an interval", written, scope, "Write a number of rows, or RANGE instead of ROWS.")


def _milliseconds(literal: Constant, written: exp.Expr, scope: Scope) -> int:
    assert isinstance(literal.value, int)
    match literal.type.root:
        case TypeRoot.INTERVAL_DAY_TIME:
            return literal.value // _MICROS_PER_MILLI
        case TypeRoot.INTERVAL_YEAR_MONTH:
            raise _error("RANGE with months or years", written, scope, "Write a number of days: INTERVAL '30' DAY.")
        case _:
            hint = "Write an interval, e.g. INTERVAL '1' HOUR, or ROWS instead of RANGE."
            raise _error("RANGE with a number", written, scope, hint)


def _error(what: str, place: exp.Expr, scope: Scope, hint: str) -> ScriptError:
    why = f"{what} is not supported"
    return ScriptError(Diagnostic(Code.UNSUPPORTED_EXPRESSION, why, scope.place(place), hint=hint))
