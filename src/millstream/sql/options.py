"""`('key' = 'value', …)`: the options of WITH, of ALTER TABLE … SET and of a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.sql.statements import OptionEntry

if TYPE_CHECKING:
    from millstream.sql.cursor import TokenCursor


def read_options(cursor: TokenCursor) -> tuple[OptionEntry, ...]:
    return cursor.read_list("an option key in single quotes", lambda: _option(cursor))


def _option(cursor: TokenCursor) -> OptionEntry:
    key = cursor.string("an option key")
    if not cursor.accept("="):
        hint = None if cursor.at("==") else f"Write '{key.text}' = 'value'."
        raise cursor.expected_error("=", hint)
    value = cursor.string("the option's value")
    return OptionEntry(key.text, value.text, key.span, value.span)
