"""Splits text into tokens: comments are dropped, hints become tokens like any other.

`t /*+ OPTIONS('a' = 'b') */` becomes `t`, `/*+`, `OPTIONS`, `(` … `)`, `*/`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.dialect import Flink
from millstream.sql.pieces import PIECES

if TYPE_CHECKING:
    from millstream.sql.script import Script

_VISIBLE: Final = re.compile(r"[^\n]")
_HEX_PREFIX: Final = re.compile(r"(?<![^\W\d])(?<!\$)[xX]")
_HEX_DIGITS: Final = re.compile(r"'[0-9a-fA-F]*'")


def read_tokens(script: Script) -> list[Token]:
    """sqlglot splits the words; comments and hints follow Flink's rules and are handled here."""
    bare, marks = _without_comments(script)
    tokens = list(Flink().tokenize(bare))
    return sorted([*tokens, *marks], key=lambda token: token.start)


def _without_comments(script: Script) -> tuple[str, list[Token]]:
    """The text with spaces in place of comments, so that offsets stay the same."""
    kept: list[str] = []
    marks: list[Token] = []
    taken = 0
    opened: int | None = None
    for piece in PIECES.finditer(script.text):
        start, end = piece.span()
        if piece["open"]:
            raise ScriptError(_unclosed_error(script, piece.group(), start))
        if piece["quoted"] and start > 0 and _HEX_PREFIX.match(script.text, start - 1):
            _require_bytes(script, piece.group(), start)
        if piece["hint"] or (piece["hint_end"] and opened is not None):
            marks.append(Token(TokenType.HINT, piece.group(), 1, 1, start, end - 1))
            opened = start if piece["hint"] else None
        elif not piece["comment"]:
            continue
        kept += (script.text[taken:start], _VISIBLE.sub(" ", piece.group()))
        taken = end
    if opened is not None:
        raise ScriptError(_unclosed_error(script, "/*+", opened))
    return "".join([*kept, script.text[taken:]]), marks


def _unclosed_error(script: Script, mark: str, start: int) -> Diagnostic:
    return Diagnostic(Code.SYNTAX, f"{mark} is opened here and never closed", script.span(start, start + len(mark)))


def _require_bytes(script: Script, quoted: str, start: int) -> None:
    if not _HEX_DIGITS.fullmatch(quoted):
        primary = "x'…' takes digits from 0 to F only"
    elif len(quoted) % 2:
        primary = "x'…' needs two digits for each byte"
    else:
        return
    raise ScriptError(Diagnostic(Code.SYNTAX, primary, script.span(start - 1, start + len(quoted))))
