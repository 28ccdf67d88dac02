"""Parses the statements that start jobs: INSERT, statement sets, queries, and EXPLAIN of each."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from sqlglot.tokenizer_core import TokenType

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.cursor import TokenCursor
from millstream.sql.hints import read_hint
from millstream.sql.queries import at_query, read_query
from millstream.sql.statements import Explain, ExplainDetail, InsertInto, Name, Select, StatementSet

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token


def read_insert(cursor: TokenCursor) -> InsertInto:
    target = cursor.object_name("a table name")
    span = cursor.span_read()
    hints = read_hint(cursor)
    if cursor.at("PARTITION"):
        raise cursor.unsupported_error("INSERT INTO … PARTITION", "Give the column's value in the select list.")
    columns: tuple[Name, ...] = ()
    if cursor.at("(") and not at_query(cursor, distance=1):
        columns = cursor.column_names()
    if not at_query(cursor) and target.text.upper().endswith("SELECT"):
        raise cursor.expected_error("SELECT or VALUES", f'Is a space missing before the SELECT in "{target.text}"?')
    return InsertInto(target, read_query(cursor), span, columns, hints)


def read_select(cursor: TokenCursor) -> Select:
    query = read_query(cursor)
    return Select(query, query.span)


def read_execute(cursor: TokenCursor) -> InsertInto | StatementSet | Select:
    if cursor.accept("STATEMENT", "SET"):
        cursor.expect("BEGIN")
        return _statement_set(cursor)
    return _runnable(cursor)


def read_begin(cursor: TokenCursor) -> StatementSet:
    cursor.expect(";")
    return _statement_set(cursor)


def read_explain(cursor: TokenCursor) -> Explain:
    details: list[ExplainDetail] = []
    if not cursor.accept("PLAN", "FOR") and cursor.at_any(*ExplainDetail):
        details.append(_detail(cursor))
        while cursor.accept(","):
            details.append(_detail(cursor))
    span = cursor.span_read()
    cursor.accept("EXECUTE")
    if cursor.accept("STATEMENT", "SET"):
        cursor.expect("BEGIN")
        return Explain(_statement_set(cursor), span, tuple(details))
    return Explain(_runnable(cursor), span, tuple(details))


def _detail(cursor: TokenCursor) -> ExplainDetail:
    word = cursor.accept_any(*ExplainDetail)
    if word is None:
        raise cursor.expected_error(f"one of {', '.join(ExplainDetail)}")
    return ExplainDetail(word)


def _runnable(cursor: TokenCursor) -> InsertInto | Select:
    if cursor.at("INSERT", "OVERWRITE"):
        raise cursor.unsupported_error("INSERT OVERWRITE", "A topic cannot be overwritten; write INSERT INTO.")
    if cursor.accept("INSERT"):
        cursor.expect("INTO")
        return read_insert(cursor)
    if at_query(cursor):
        return read_select(cursor)
    raise cursor.expected_error("INSERT INTO, SELECT or STATEMENT SET")


def _statement_set(cursor: TokenCursor) -> StatementSet:
    """Each INSERT is parsed separately, so that the problems of all of them are reported."""
    span = cursor.span_read()
    parts = _between_semicolons(cursor.rest())
    inserts: list[InsertInto] = []
    is_closed = False
    for tokens in parts:
        member = TokenCursor(cursor.script, tokens)
        try:
            if tokens is parts[-1] and member.accept("END"):
                member.end()
                is_closed = True
                break
            if not member.accept("INSERT", "INTO"):
                raise member.expected_error("INSERT INTO", "A statement set holds INSERT INTO statements, up to END.")
            inserts.append(read_insert(member))
        except ScriptError as error:
            member.noted += error.diagnostics
        cursor.noted += member.noted
    if not is_closed and not cursor.noted:
        raise ScriptError(
            Diagnostic(Code.SYNTAX, "the statement set is not closed", span, hint="Add END; after the last INSERT.")
        )
    return StatementSet(tuple(inserts), span)


def _between_semicolons(tokens: list[Token]) -> list[list[Token]]:
    grouped = groupby(tokens, key=lambda token: token.token_type is TokenType.SEMICOLON)
    return [list(part) for is_separator, part in grouped if not is_separator]
