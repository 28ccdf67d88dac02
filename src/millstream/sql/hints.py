"""Hints: `/*+ OPTIONS('key' = 'value') */` after a table, and others after SELECT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.cursor import TokenCursor
from millstream.sql.options import read_options
from millstream.sql.query_hints import QUERY_HINTS, read_query_hints
from millstream.sql.slips import is_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from millstream.sql.script import Script
    from millstream.sql.statements import OptionEntry, QueryHint


@dataclass(frozen=True, slots=True)
class WrittenHint:
    """A hint's tokens, from `/*+` to `*/`, and how many tokens of the query precede it."""

    tokens: tuple[Token, ...]
    position: int

    def misplaced_error(self, script: Script) -> ScriptError:
        inner = self.tokens[1:-1]
        words = f"the hint {inner[0].text.upper()}" if inner else "an empty hint"
        return ScriptError(
            Diagnostic(
                Code.UNSUPPORTED_STATEMENT,
                f"{words} is not supported in this place",
                script.span(self.tokens[0].start, self.tokens[-1].end + 1),
                hint=_right_place(inner[0].text.upper() if inner else ""),
            )
        )

    def is_of_query(self, tokens: Sequence[Token]) -> bool:
        """Whether it follows SELECT, among the remaining `tokens`."""
        return self.position > 0 and is_mark(tokens[self.position - 1], "SELECT")


def _right_place(name: str) -> str:
    if name in QUERY_HINTS:
        return f"{name} goes directly after SELECT: SELECT /*+ {name}(…) */ …."
    return "OPTIONS goes directly after a table's name: FROM t /*+ OPTIONS('key' = 'value') */."


def read_hint(cursor: TokenCursor) -> tuple[OptionEntry, ...]:
    """The options of a hint, if there is one here."""
    if not cursor.accept("/*+"):
        return ()
    if not cursor.accept("OPTIONS"):
        word = cursor.current.text.upper() if cursor.current is not None else ""
        raise cursor.unsupported_error(
            f"the hint {word} in this place" if word != "*/" else "an empty hint", _right_place(word)
        )
    options = read_options(cursor)
    cursor.expect("*/")
    return options


def cut_hints(tokens: Sequence[Token]) -> tuple[list[Token], list[WrittenHint]]:
    """The remaining tokens for sqlglot, and the hints with their positions."""
    bare: list[Token] = []
    hints: list[WrittenHint] = []
    inside: list[Token] | None = None
    for token in tokens:
        if token.token_type is TokenType.HINT and inside is None:
            inside = [token]
        elif inside is None:
            bare.append(token)
        else:
            inside.append(token)
            if token.token_type is TokenType.HINT and token.text == "*/":
                hints.append(WrittenHint(tuple(inside), len(bare)))
                inside = None
    if inside is not None:
        hints.append(WrittenHint(tuple(inside), len(bare)))
    return bare, hints


def options_of_tables(
    script: Script, tree: exp.Expr, tokens: Sequence[Token], hints: Sequence[WrittenHint]
) -> tuple[tuple[int, tuple[OptionEntry, ...]], ...]:
    """Each hint's options with the offset of their table."""
    tables = {
        table.this.meta.get("start") for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)
    }
    found: list[tuple[int, tuple[OptionEntry, ...]]] = []
    problems: list[Diagnostic] = []
    for hint in hints:
        if hint.is_of_query(tokens):
            continue
        cursor = TokenCursor(script, list(hint.tokens))
        try:
            options = read_hint(cursor)
            before = tokens[hint.position - 1] if hint.position else None
            is_argument = hint.position > 1 and is_mark(tokens[hint.position - 2], "TABLE")
            if before is None or not (before.start in tables or is_argument):
                raise hint.misplaced_error(script)
        except ScriptError as error:
            problems += (*cursor.noted, *error.diagnostics)
        else:
            problems += cursor.noted
            found.append((before.start, options))
    if problems:
        raise ScriptError(problems)
    return tuple(found)


def hints_of_queries(
    script: Script, tokens: Sequence[Token], hints: Sequence[WrittenHint]
) -> tuple[tuple[int, tuple[QueryHint, ...]], ...]:
    """The hints after each SELECT, with its offset."""
    found: list[tuple[int, tuple[QueryHint, ...]]] = []
    problems: list[Diagnostic] = []
    for hint in hints:
        if not hint.is_of_query(tokens):
            continue
        cursor = TokenCursor(script, list(hint.tokens))
        try:
            found.append((tokens[hint.position - 1].start, read_query_hints(cursor)))
        except ScriptError as error:
            cursor.noted += error.diagnostics
        problems += cursor.noted
    if problems:
        raise ScriptError(problems)
    return tuple(found)
