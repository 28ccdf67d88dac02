"""Parses a script to its statements; every statement that cannot be parsed is reported, not only the first."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.cursor import TokenCursor
from millstream.sql.language import read_statement
from millstream.sql.lexer import read_tokens
from millstream.sql.splitting import part_joined_select, split_statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.sql.script import Script
    from millstream.sql.statements import Statement


@dataclass(frozen=True, slots=True)
class ParsedScript:
    """The statements that could be parsed, and the problems of the others."""

    statements: tuple[Statement, ...]
    problems: tuple[Diagnostic, ...]
    unreadable_tables: frozenset[str]
    """Tables and views whose CREATE could not be parsed, so that they are not also reported as undefined."""
    warnings: tuple[Diagnostic, ...] = ()


def parse_script(script: Script) -> ParsedScript:
    statements: list[Statement] = []
    problems: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    said: set[str] = set()
    created: set[str] = set()
    unreadable: set[str] = set()
    for written in split_statements(read_tokens(script)):
        tokens, warned = part_joined_select(script, written, created)
        warnings += warned
        cursor = TokenCursor(script, tokens)
        try:
            statement = read_statement(cursor)
        except ScriptError as error:
            cursor.noted += error.diagnostics
        except RecursionError:
            cursor.noted.append(Diagnostic(Code.SYNTAX, "this is nested too deeply", cursor.here()))
        names = set(_created_names(TokenCursor(script, tokens)))
        created |= names
        if cursor.noted:
            problems += cursor.noted
            unreadable |= names
        else:
            statements.append(statement)
            warnings += (warning for warning in cursor.warned if warning.primary not in said)
            said |= {warning.primary for warning in cursor.warned}
    return ParsedScript(tuple(statements), tuple(problems), frozenset(unreadable), tuple(warnings))


def _created_names(cursor: TokenCursor) -> Iterator[str]:
    """The name after CREATE TABLE or CREATE VIEW, if it can be parsed."""
    if not cursor.accept("CREATE"):
        return
    cursor.accept("TEMPORARY")
    if cursor.accept_any("TABLE", "VIEW"):
        cursor.accept("IF", "NOT", "EXISTS")
        with suppress(ScriptError):
            yield cursor.object_name("a name").text
