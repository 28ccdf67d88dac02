"""Parses queries and expressions by sqlglot, from a statement's tokens."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.dialect import Flink
from millstream.sql.hints import cut_hints, hints_of_queries, options_of_tables
from millstream.sql.query_hints import warn_of_hints
from millstream.sql.refused_clauses import refuse_clauses, refuse_named_arguments
from millstream.sql.reserved_words import reserved_names
from millstream.sql.slips import (
    excerpt,
    find_joined_numbers,
    find_word_used_as_name,
    hint_at,
    in_backticks,
    innermost,
    is_mark,
    misspelt_keyword,
    next_statement,
    open_parenthesis,
    slips_in_query,
)
from millstream.sql.statements import Expression, Query

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from millstream.sql.cursor import TokenCursor
    from millstream.sql.script import Script

BEGINS_A_QUERY: Final = ("SELECT", "VALUES", "WITH", "TABLE", "(")
_UNEXPECTED: Final = "unexpected text here"
_OPERAND_MISSING: Final = ("an operand is missing here", "expected an expression")
_IN_OUR_WORDS: Final = (
    ("Expecting ", "expected "),
    ("Expected table name", "expected a table or a query "),
    ("Required keyword", _OPERAND_MISSING[0]),
    ("Invalid expression / Unexpected token", _UNEXPECTED),
)
"""sqlglot's messages refer to tokens and expressions, which mean nothing to a user."""


_TOKEN: Final = re.compile(r"\s*(but got|, got)\s*<Token .*", re.DOTALL)


def at_query(cursor: TokenCursor, distance: int = 0) -> bool:
    return is_mark(cursor.ahead(distance), *BEGINS_A_QUERY)


def read_query(cursor: TokenCursor) -> Query:
    """The rest of the statement, which has to be a query."""
    if not at_query(cursor):
        raise cursor.expected_error("SELECT or VALUES")
    script, written = cursor.script, cursor.rest()
    tokens, hints = cut_hints(written)
    refuse_clauses(script, tokens)
    tree = _read(script, tokens, exp.Query)
    if isinstance(tree, exp.Values):
        tree = exp.select("*").from_(tree, copy=False)
    if not isinstance(tree, exp.Query):
        raise ScriptError(Diagnostic(Code.SYNTAX, "expected a query", script.place(tokens[0])))
    span = script.span(written[0].start, written[-1].end + 1)
    of_tables = options_of_tables(script, tree, tokens, hints)
    of_queries = hints_of_queries(script, tokens, hints)
    cursor.warned += chain.from_iterable(map(warn_of_hints, dict(of_queries).values()))
    return Query(tree, script, span, of_tables, of_queries)


def read_expression(cursor: TokenCursor, written: list[Token]) -> Expression:
    if not written:
        raise cursor.expected_error("an expression")
    script = cursor.script
    tokens, hints = cut_hints(written)
    for hint in hints:
        raise hint.misplaced_error(script)
    tree = _read(script, tokens, exp.Condition)
    return Expression(tree, script, script.span(written[0].start, written[-1].end + 1))


def _read(script: Script, tokens: list[Token], kind: type[exp.Expr]) -> exp.Expr:
    """Parses these tokens to a tree; an exception of sqlglot becomes a diagnostic."""
    refuse_named_arguments(script, tokens)
    for token, slip in slips_in_query(tokens):
        raise ScriptError(_diagnostic(script, tokens, slip, token))
    for first, last in find_joined_numbers(tokens, script.text):
        place = script.span(first.start, last.end + 1)
        primary = f'"{excerpt(script.text[first.start : last.end + 1])}" is not a number'
        raise ScriptError(Diagnostic(Code.SYNTAX, primary, place, hint="A number has decimal digits only."))
    # With the whole text as context, an error's start_context is as long as its offset.
    parser = Flink().parser(error_level=ErrorLevel.IMMEDIATE, error_message_context=len(script.text) + 1)
    try:
        trees = parser.parse(tokens, script.text) if kind is exp.Query else parser.parse_into(kind, tokens, script.text)
    except ScriptError as error:
        raise ScriptError(_place(script, problem) for problem in error.diagnostics) from None
    except ParseError as error:
        raise ScriptError(_from_sqlglot(script, tokens, error)) from None
    except RecursionError:
        raise ScriptError(_diagnostic(script, tokens, "this is nested too deeply", innermost(tokens))) from None
    if not trees or trees[0] is None:
        raise ScriptError(_diagnostic(script, tokens, "expected an expression", tokens[0]))
    if problems := [_reserved_word(script, name) for name in reserved_names(trees[0])]:
        raise ScriptError(problems)
    return trees[0]


def _reserved_word(script: Script, name: exp.Identifier) -> Diagnostic:
    place = script.span(name.meta["start"], name.meta["end"] + 1)
    return Diagnostic(Code.SYNTAX, f'"{name.name}" is a reserved word', place, hint=in_backticks(name.name))


def _place(script: Script, problem: Diagnostic) -> Diagnostic:
    """A problem of a type is found in the text with parameters replaced; the user sees the original text."""
    return problem if problem.span is None else replace(problem, span=script.span(problem.span.start, problem.span.end))


def _from_sqlglot(script: Script, tokens: list[Token], error: ParseError) -> Diagnostic:
    first = error.errors[0] if error.errors else {}
    offset = len(first["start_context"]) if first.get("start_context") else tokens[-1].start
    stopped = next((token for token in tokens if token.start >= offset), tokens[-1])
    description = str(first.get("description") or "the text cannot be read")
    for theirs, ours in _IN_OUR_WORDS:
        if theirs in description:
            description = description.replace(theirs, ours) if ours.endswith(" ") else ours
    description = _TOKEN.sub(f', found "{excerpt(script.place(stopped).text)}"', description)
    return _diagnostic(script, tokens, description[:1].lower() + description[1:], stopped)


def _diagnostic(script: Script, tokens: list[Token], primary: str, stopped: Token) -> Diagnostic:
    index = tokens.index(stopped)
    opened = open_parenthesis(tokens[: index + (stopped is tokens[-1])])
    if primary in (_UNEXPECTED, "expected )"):
        meant = misspelt_keyword(tokens, index) or (next_statement(tokens, index) if opened is None else None)
        if meant is not None:
            return Diagnostic(Code.SYNTAX, f'unexpected "{meant[0].text}"', script.place(meant[0]), hint=meant[1])
    if primary == "expected )" and opened is not None:
        place = script.place(opened)
        detail = f"The parenthesis opened at {place.line}:{place.column} is not closed."
        return Diagnostic(Code.SYNTAX, primary, script.place(stopped), detail)
    hint = hint_at(stopped, tokens[index - 1] if index else None)
    if hint is None and primary in _OPERAND_MISSING:
        hint = find_word_used_as_name(stopped, tokens[index + 1] if index + 1 < len(tokens) else None)
    return Diagnostic(Code.SYNTAX, primary, script.place(stopped), hint=hint)
