"""Queries and expressions, read by sqlglot from a statement's tokens."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.dialect import Flink
from millstream.sql.statements import Expression, Query

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from millstream.source import Span
    from millstream.sql.cursor import TokenCursor
    from millstream.sql.script import Script


class _Parse(Protocol):
    def __call__(self, raw_tokens: list[Token], sql: str, /) -> list[exp.Expr | None]: ...


class QueryReader:
    """Hands token ranges of one script to sqlglot and turns its errors into ours."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._parser = Flink().parser(error_level=ErrorLevel.IMMEDIATE)

    def query(self, tokens: list[Token], cursor: TokenCursor) -> Query:
        if not tokens:
            raise cursor.error("expected SELECT")
        tree = self._read(self._parser.parse, tokens)
        if not isinstance(tree, exp.Query):
            raise ScriptError(Diagnostic(Code.SYNTAX, "expected a query", self._script.place(tokens[0])))
        return Query(tree, self._script, self._between(tokens))

    def expression(self, tokens: list[Token], cursor: TokenCursor) -> Expression:
        if not tokens:
            raise cursor.error("expected an expression")
        tree = self._read(partial(self._parser.parse_into, exp.Condition), tokens)
        return Expression(tree, self._script, self._between(tokens))

    def _between(self, tokens: list[Token]) -> Span:
        return self._script.span(tokens[0].start, tokens[-1].end + 1)

    def _read(self, parse: _Parse, tokens: list[Token]) -> exp.Expr:
        try:
            trees = parse(tokens, self._script.text)
        except ParseError as error:
            raise ScriptError(self._diagnostic(error, tokens)) from None
        tree = trees[0]
        if tree is None:
            raise ScriptError(Diagnostic(Code.SYNTAX, "expected an expression", self._script.place(tokens[0])))
        return tree

    def _diagnostic(self, error: ParseError, tokens: list[Token]) -> Diagnostic:
        first = error.errors[0] if error.errors else {}
        line, column = first.get("line"), first.get("col")
        description = str(first.get("description") or "the text cannot be read")
        span = self._script.place(tokens[-1])
        if line and column:
            end = self._script.offset(line, column)
            span = self._script.span(end - len(first.get("highlight") or " "), end)
        return Diagnostic(Code.SYNTAX, _in_our_words(description), span)


def _in_our_words(description: str) -> str:
    """sqlglot speaks of tokens and expressions; the user wrote words."""
    if description.startswith("Expecting "):
        return f"expected {description.removeprefix('Expecting ')}"
    if description.startswith("Required keyword"):
        return "an operand is missing here"
    if "Unexpected token" in description:
        return "unexpected text here"
    return description[:1].lower() + description[1:]
