"""From a script to its statements; every statement that cannot be read is reported, not only the first."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.create_table import parse_create_table
from millstream.sql.cursor import TokenCursor
from millstream.sql.dialect import Flink
from millstream.sql.queries import QueryReader
from millstream.sql.script import hints
from millstream.sql.statements import InsertInto, Name, SetOption, Statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.sql.script import Script

_MISSING_END: Final = re.compile(r"Missing (.+) from (\d+):(\d+)")
_RECOGNISED: Final = (
    "ALTER", "BEGIN", "CREATE", "DESC", "DESCRIBE", "DROP", "EXECUTE", "EXPLAIN", "INSERT", "RESET", "SELECT",
    "SHOW", "USE", "VALUES", "WITH",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ParsedScript:
    """The statements that could be read, and what is wrong with the others."""

    statements: tuple[Statement, ...]
    problems: tuple[Diagnostic, ...]
    unreadable_tables: frozenset[str]
    """Tables whose CREATE TABLE could not be read: they are missing for no other reason."""


def parse_script(script: Script) -> ParsedScript:
    statements: list[Statement] = []
    problems = [
        Diagnostic(Code.UNSUPPORTED_STATEMENT, "hints (/*+ … */) are not supported yet", place)
        for place in hints(script)
    ]
    unreadable: set[str] = set()
    for tokens in _statements(_tokenize(script)):
        try:
            statements.append(_parse_statement(script, tokens))
        except ScriptError as error:
            problems += error.diagnostics
            unreadable.update(_created_table(TokenCursor(script, tokens)))
    return ParsedScript(tuple(statements), tuple(problems), frozenset(unreadable))


def _tokenize(script: Script) -> list[Token]:
    try:
        return list(Flink().tokenize(script.text))
    except TokenError as error:
        start = 0
        what = "the text cannot be read"
        if found := _MISSING_END.search(f"{error} {error.__cause__}"):
            what = f"{found.group(1)} is opened here and never closed"
            start = script.offset(int(found.group(2)), int(found.group(3)))
        raise ScriptError(Diagnostic(Code.SYNTAX, what, script.span(start, start + 1))) from None


def _statements(tokens: list[Token]) -> Iterator[list[Token]]:
    statement: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if statement:
                yield statement
            statement = []
        else:
            statement.append(token)
    if statement:
        yield statement


def _parse_statement(script: Script, tokens: list[Token]) -> Statement:
    cursor = TokenCursor(script, tokens)
    queries = QueryReader(script)
    if cursor.at("CREATE", "TABLE") or cursor.at("CREATE", "TEMPORARY", "TABLE"):
        return parse_create_table(cursor, queries)
    if cursor.at("INSERT", "INTO"):
        return _parse_insert(cursor, queries)
    if cursor.at("SET"):
        return _parse_set(cursor)
    word = next((word for word in _RECOGNISED if cursor.at(word)), None)
    if word is not None:
        raise cursor.error(
            f"{word} statements of this kind are not supported yet",
            hint="A script can have CREATE TABLE, INSERT INTO … SELECT and SET.",
            code=Code.UNSUPPORTED_STATEMENT,
        )
    raise cursor.error("expected CREATE TABLE, INSERT INTO or SET")


def _created_table(cursor: TokenCursor) -> Iterator[str]:
    """The name after CREATE TABLE, if that much can be read."""
    if not cursor.accept("CREATE"):
        return
    cursor.accept("TEMPORARY")
    if cursor.accept("TABLE"):
        cursor.accept("IF", "NOT", "EXISTS")
        with suppress(ScriptError):
            yield cursor.object_name("a table name").text


def _parse_insert(cursor: TokenCursor, queries: QueryReader) -> InsertInto:
    start = cursor.current
    assert start is not None
    cursor.expect("INSERT", "INTO")
    target = cursor.object_name("a table name")
    span = cursor.since(start)
    columns: list[Name] = []
    if cursor.accept("("):
        columns.append(cursor.name("a column name"))
        while cursor.accept(","):
            columns.append(cursor.name("a column name"))
        cursor.expect(")")
    query = queries.query(cursor.rest(), cursor)
    return InsertInto(target, query, span, tuple(columns))


def _parse_set(cursor: TokenCursor) -> SetOption:
    start = cursor.current
    assert start is not None
    cursor.expect("SET")
    key = cursor.string("the setting's name")
    cursor.expect("=")
    value = cursor.string("its value")
    cursor.end()
    return SetOption(key.text, value.text, cursor.since(start))
