"""Parses SET, RESET, SHOW and DESCRIBE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.sql.slips import is_mark
from millstream.sql.statements import Describe, ResetOption, SetOption, Show, ShowKind

if TYPE_CHECKING:
    from millstream.sql.cursor import TokenCursor

_LISTED_WITHIN: Final = (ShowKind.TABLES, ShowKind.VIEWS, ShowKind.DATABASES)
"""What belongs to a database, or to a catalog."""
_OTHER_OBJECTS: Final = ("CATALOG", "DATABASE", "FUNCTION", "JOB", "MODEL")


def read_set(cursor: TokenCursor) -> SetOption | Show:
    if cursor.current is None:
        return Show(ShowKind.SETTINGS, cursor.span_read())
    key = _setting(cursor, "the setting's name")
    cursor.expect("=")
    value = _setting(cursor, "its value")
    cursor.end()
    return SetOption(key, value, cursor.span_read())


def read_reset(cursor: TokenCursor) -> ResetOption:
    key = _setting(cursor, "the setting's name") if cursor.current is not None else None
    cursor.end()
    return ResetOption(key, cursor.span_read())


def _setting(cursor: TokenCursor, what: str) -> str:
    """In quotes, or bare as in older clients: `SET table.local-time-zone = UTC`."""
    if cursor.at_string():
        return cursor.string(what).text
    start = cursor.current
    if start is None or cursor.at_any('"', "`", "=", "=="):
        raise cursor.expected_error(f"{what} in single quotes")
    cursor.up_to(lambda: cursor.at_any("=", "=="))
    return cursor.script.text_of(cursor.since(start))


def read_describe(cursor: TokenCursor) -> Describe:
    if cursor.at_any(*_OTHER_OBJECTS) and cursor.ahead(1) is not None and not is_mark(cursor.ahead(1), "."):
        raise cursor.unsupported_error("DESCRIBE of anything but a table or a view")
    if cursor.ahead(1) is not None and not is_mark(cursor.ahead(1), "."):
        cursor.accept("EXTENDED")
    name = cursor.object_name("a table name")
    cursor.end()
    return Describe(name, cursor.span_read())


def read_show(cursor: TokenCursor, kind: ShowKind) -> Show:
    within = None
    if cursor.at_any("FROM", "IN"):
        if kind not in _LISTED_WITHIN:
            raise cursor.unsupported_error(f"SHOW {kind} FROM", f"They belong to no database; write SHOW {kind}.")
        cursor.accept_any("FROM", "IN")
        within = cursor.object_name(f"the name of a {'catalog' if kind is ShowKind.DATABASES else 'database'}")
    is_negated = cursor.accept("NOT")
    if cursor.at("ILIKE"):
        raise cursor.unsupported_error(f"SHOW {kind} ILIKE", "Write LIKE.")
    pattern = None
    if is_negated or cursor.at("LIKE"):
        cursor.expect("LIKE")
        pattern = cursor.string("a pattern").text
    cursor.end()
    return Show(kind, cursor.span_read(), like=pattern, is_negated=is_negated, within=within)


def read_show_current(cursor: TokenCursor, kind: ShowKind) -> Show:
    cursor.end()
    return Show(kind, cursor.span_read())


def read_show_jobs(cursor: TokenCursor) -> Show:
    cursor.end()
    return Show(ShowKind.JOBS, cursor.span_read())


def read_show_create(cursor: TokenCursor, kind: ShowKind) -> Show:
    name = cursor.object_name("a table name" if kind is ShowKind.CREATE_TABLE else "a view name")
    cursor.end()
    return Show(kind, cursor.span_read(), name)
