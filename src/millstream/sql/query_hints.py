"""Hints of a query: `SELECT /*+ STATE_TTL('o' = '1d'), BROADCAST(c) */ …`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.spelling import nearest
from millstream.sql.options import read_options
from millstream.sql.statements import QueryHint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.sql.cursor import TokenCursor
    from millstream.sql.statements import Name, OptionEntry

STATE_TTL: Final = "STATE_TTL"
LOOKUP: Final = "LOOKUP"
_OF_BATCH_JOINS: Final = ("BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP")
WITHOUT_EFFECT: Final = {
    **dict.fromkeys(_OF_BATCH_JOINS, "it chooses how joins run in batch mode"),
    LOOKUP: "tables that are looked up are in memory",
}
"""Hints that change no row, with the reason why they are not needed."""
QUERY_HINTS: Final = (STATE_TTL, *WITHOUT_EFFECT)
_KNOWN: Final = f"After SELECT there can be {', '.join(QUERY_HINTS)}."
_WITH_OPTIONS: Final = (STATE_TTL, LOOKUP)


def read_query_hints(cursor: TokenCursor) -> tuple[QueryHint, ...]:
    """All between `/*+` and `*/`, separated by commas; their names are not case-sensitive."""
    cursor.expect("/*+")
    if cursor.at("*/"):
        raise cursor.unsupported_error("an empty hint", _KNOWN)
    hints = [_read_hint(cursor)]
    while not cursor.accept("*/"):
        cursor.expect(",")
        hints.append(_read_hint(cursor))
    return tuple(hints)


def warn_of_hints(hints: Sequence[QueryHint]) -> list[Diagnostic]:
    """Of those that have no effect; whoever shows it says so once per hint and script."""
    return [
        Diagnostic(
            Code.UNSUPPORTED_STATEMENT, f"the hint {hint.name} has no effect: {WITHOUT_EFFECT[hint.name]}", hint.span
        )
        for hint in hints
        if hint.name in WITHOUT_EFFECT
    ]


def _read_hint(cursor: TokenCursor) -> QueryHint:
    written = cursor.name("the name of a hint")
    name = written.text.upper()
    if name not in QUERY_HINTS:
        raise ScriptError(_unknown(written))
    options: tuple[OptionEntry, ...] = ()
    tables: tuple[Name, ...] = ()
    if name in _WITH_OPTIONS:
        options = read_options(cursor)
    else:
        tables = cursor.read_list("the name of a table", lambda: _read_table(cursor))
    return QueryHint(name, written.span, options, tables)


def _read_table(cursor: TokenCursor) -> Name:
    return cursor.string("a table") if cursor.at_string() else cursor.name("the name of a table")


def _unknown(written: Name) -> Diagnostic:
    name = written.text.upper()
    if name == "OPTIONS":
        why = "the hint OPTIONS is not supported in this place"
        hint = "OPTIONS goes directly after a table's name: FROM t /*+ OPTIONS('key' = 'value') */."
        return Diagnostic(Code.UNSUPPORTED_STATEMENT, why, written.span, hint=hint)
    meant = nearest(name, QUERY_HINTS)
    return Diagnostic(
        Code.UNSUPPORTED_STATEMENT,
        f"the hint {name} does not exist",
        written.span,
        hint=f"Did you mean {meant}?" if meant else _KNOWN,
    )
