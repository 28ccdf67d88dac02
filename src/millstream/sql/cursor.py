"""Reading tokens one by one, with errors that point at the token where reading stopped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.statements import Name, ObjectName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.source import Span
    from millstream.sql.script import Script

_QUOTED: Final = frozenset({TokenType.STRING, TokenType.IDENTIFIER, TokenType.HEX_STRING})
_MOST_PARTS: Final = 3
_WORD: Final = re.compile(r"\S+")


def _words(token: Token) -> Iterator[Token]:
    """Cuts a keyword that sqlglot joins (`PRIMARY KEY`) into words, each with its own place."""
    if token.token_type in _QUOTED or len(token.text.split()) <= 1:
        yield token
        return
    for match in _WORD.finditer(token.text):
        start = token.start + match.start()
        yield Token(TokenType.VAR, match.group(), token.line, token.col, start, start + len(match.group()) - 1)


class TokenCursor:
    """A position in the tokens of one statement."""

    def __init__(self, script: Script, tokens: list[Token]) -> None:
        self._script = script
        self._written = tokens
        pairs = [(word, index) for index, token in enumerate(tokens) for word in _words(token)]
        self._tokens = [word for word, _ in pairs]
        self._written_at = [*(index for _, index in pairs), len(tokens)]
        self._index = 0

    @property
    def current(self) -> Token | None:
        return self._tokens[self._index] if self._index < len(self._tokens) else None

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these words or marks, in any case."""
        ahead = self._tokens[self._index : self._index + len(words)]
        return len(ahead) == len(words) and all(
            token.token_type not in _QUOTED and token.text.upper() == word
            for token, word in zip(ahead, words, strict=True)
        )

    def accept(self, *words: str) -> bool:
        if self.at(*words):
            self._index += len(words)
            return True
        return False

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.accept(word):
                raise self.error(f"expected {word}")

    def name(self, what: str) -> Name:
        token = self.current
        if token is None or (token.token_type is not TokenType.IDENTIFIER and not _is_word(token)):
            raise self.error(f"expected {what}")
        self._index += 1
        return Name(token.text, self._script.place(token))

    def object_name(self, what: str) -> ObjectName:
        """A name of one to three parts: `table`, `database.table`, `catalog.database.table`."""
        start = self.current
        parts = [self.name(what).text]
        assert start is not None
        while len(parts) < _MOST_PARTS and self.accept("."):
            parts.append(self.name(what).text)
        return ObjectName(tuple(parts), self.since(start))

    def string(self, what: str) -> Name:
        token = self.current
        if token is None or token.token_type is not TokenType.STRING:
            raise self.error(f"expected {what} in single quotes")
        self._index += 1
        return Name(token.text, self._script.place(token))

    def integer(self) -> int:
        token = self.current
        if token is None or token.token_type is not TokenType.NUMBER or not token.text.isdigit():
            raise self.error("expected a whole number")
        self._index += 1
        return int(token.text)

    def up_to(self, *ends: str) -> list[Token]:
        """The tokens up to one of these marks outside parentheses, which stays unread."""
        depth, start = 0, self._index
        while (token := self.current) is not None:
            if depth == 0 and token.token_type not in _QUOTED and token.text.upper() in ends:
                break
            depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
            self._index += 1
        return self._written[self._written_at[start] : self._written_at[self._index]]

    def rest(self) -> list[Token]:
        """All that is left, as sqlglot cut it."""
        start, self._index = self._index, len(self._tokens)
        return self._written[self._written_at[start] :]

    def end(self) -> None:
        if self.current is not None:
            raise self.error("expected the end of the statement")

    def here(self) -> Span:
        """The next token's place; past the end, the last token's."""
        return self._script.place(self.current or self._tokens[-1])

    def since(self, start: Token) -> Span:
        last = self._tokens[max(self._index - 1, 0)]
        return self._script.span(start.start, last.end + 1)

    def error(self, primary: str, hint: str | None = None, code: Code = Code.SYNTAX) -> ScriptError:
        if code is Code.SYNTAX:
            token = self.current
            found = f'found "{_excerpt(token.text)}"' if token is not None else "the statement ends here"
            primary = f"{primary}, {found}"
        return ScriptError(Diagnostic(code, primary, self.here(), hint=hint))


def _is_word(token: Token) -> bool:
    return token.token_type not in _QUOTED and bool(re.fullmatch(r"[^\W\d]\w*", token.text))


def _excerpt(text: str, longest: int = 40) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
