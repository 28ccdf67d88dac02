"""Where one statement ends and the next begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import Code, Diagnostic
from millstream.sql.slips import is_mark

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from millstream.sql.script import Script

_SELECT: Final = "SELECT"
_NOT_A_SELECT_LIST: Final = ("SELECT", "VALUES", "WITH", "TABLE", "PARTITION", "AS", "(", ".", ",", "/*+", ";")


def split_statements(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Semicolons separate statements, except between BEGIN and END of a statement set."""
    parts = list(_split_at_semicolons(tokens))
    while parts:
        statement = parts.pop(0)
        if _opens_set(statement):
            for _ in range(_parts_of_set(parts)):
                statement += parts.pop(0)
        if statement[-1].token_type is TokenType.SEMICOLON:
            statement.pop()
        if statement:
            yield statement


def _split_at_semicolons(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    part: list[Token] = []
    for token in tokens:
        part.append(token)
        if token.token_type is TokenType.SEMICOLON:
            yield part
            part = []
    if part:
        yield part


def _opens_set(part: Sequence[Token]) -> bool:
    if _reads(part, "BEGIN", "STATEMENT", "SET"):
        return True
    return is_mark(part[0], "EXECUTE", "EXPLAIN") and any(
        _reads(part[start:], "STATEMENT", "SET", "BEGIN") for start in range(len(part))
    )


def _parts_of_set(following: Sequence[Sequence[Token]]) -> int:
    """Up to END; if that is missing, as long as there are INSERTs, so that the rest can be parsed."""
    inserts = 0
    is_broken = False
    for count, part in enumerate(following, start=1):
        if is_mark(part[0], "END"):
            return count
        if _opens_set(part):
            break
        is_broken = is_broken or not is_mark(part[0], "INSERT")
        inserts += not is_broken
    return inserts


def _reads(tokens: Sequence[Token], *words: str) -> bool:
    return len(tokens) >= len(words) and all(is_mark(token, word) for token, word in zip(tokens, words, strict=False))


def part_joined_select(
    script: Script, tokens: Sequence[Token], tables: Collection[str]
) -> tuple[list[Token], list[Diagnostic]]:
    """`INSERT INTO totalsSELECT a, b FROM t`, as in published examples: parsed as two words, with a warning.

    Only if the script created table "totals" and not "totalsSELECT", and a select list follows.
    """
    parted: list[Token] = []
    warnings: list[Diagnostic] = []
    for index, token in enumerate(tokens):
        name = token.text[: -len(_SELECT)]
        if _is_joined(tokens, index) and name in tables and token.text not in tables:
            middle = token.start + len(name)
            parted.append(Token(TokenType.VAR, name, token.line, token.col, token.start, middle - 1))
            parted.append(Token(TokenType.SELECT, _SELECT, token.line, token.col, middle, token.end))
            primary = f'"{token.text}" is read as {name} SELECT'
            warnings.append(Diagnostic(Code.SYNTAX, primary, script.place(token), hint="Add a space before SELECT."))
        else:
            parted.append(token)
    return parted, warnings


def _is_joined(tokens: Sequence[Token], index: int) -> bool:
    token = tokens[index]
    return (
        index > 1
        and token.token_type is TokenType.VAR
        and token.text.upper().endswith(_SELECT)
        and _reads(tokens[index - 2 :], "INSERT", "INTO")
        and index + 1 < len(tokens)
        and not is_mark(tokens[index + 1], *_NOT_A_SELECT_LIST)
    )
