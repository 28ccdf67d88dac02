"""Reads tokens one by one, with errors that point at the token where parsing stopped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from sqlglot.tokenizer_core import Token, TokenType

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.pieces import QUOTED
from millstream.sql.reserved_words import is_reserved
from millstream.sql.slips import (
    RESERVED,
    did_you_mean,
    excerpt,
    hint_at,
    hint_for_name,
    in_backticks,
    is_mark,
    next_statement,
    open_parenthesis,
)
from millstream.sql.statements import Name, ObjectName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from millstream.source import Span
    from millstream.sql.script import Script

T = TypeVar("T")
_MOST_PARTS: Final = 3
_WORD: Final = re.compile(r"--[^\n]*|/\*.*?\*/|(?P<word>\w+)", re.DOTALL)
_NAME: Final = re.compile(r"[^\W\d][\w$]*")
_KEYWORD: Final = re.compile(r"\b[A-Z]{3,}\b")
_MOST_DIGITS: Final = 10
_ANGLED: Final = ("ROW", "ARRAY", "MAP", "MULTISET")
_BEHIND_A_LIST: Final = ("WITH", "PARTITIONED", "COMMENT", "LIKE", "SELECT", "VALUES")


class TokenCursor:
    """A position in the tokens of one statement."""

    def __init__(self, script: Script, tokens: list[Token], *, takes_reserved: bool = False) -> None:
        """`takes_reserved` is for generated text, in which names have no backticks."""
        self.script = script
        self._takes_reserved = takes_reserved
        self.noted: list[Diagnostic] = []
        """Problems after which parsing could continue."""
        self.warned: list[Diagnostic] = []
        """What is said of a statement that is accepted."""
        self._written = tokens
        pairs = [(word, index) for index, token in enumerate(tokens) for word in _words(script, token)]
        self._tokens = [word for word, _ in pairs]
        self._written_at = [*(index for _, index in pairs), len(tokens)]
        self._index = 0

    @property
    def current(self) -> Token | None:
        return self.ahead(0)

    def ahead(self, distance: int) -> Token | None:
        index = self._index + distance
        return self._tokens[index] if 0 <= index < len(self._tokens) else None

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these words or symbols, case-insensitively."""
        return all(is_mark(self.ahead(distance), word) for distance, word in enumerate(words))

    def at_any(self, *words: str) -> bool:
        return is_mark(self.current, *words)

    def at_string(self, distance: int = 0) -> bool:
        token = self.ahead(distance)
        return token is not None and token.token_type is TokenType.STRING

    def accept(self, *words: str) -> bool:
        if self.at(*words):
            self._index += len(words)
            return True
        return False

    def accept_any(self, *words: str) -> str | None:
        token = self.current
        if token is None or not self.at_any(*words):
            return None
        self._index += 1
        return token.text.upper()

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.accept(word):
                raise self.expected_error(word)

    def name(self, what: str) -> Name:
        token = self.current
        if token is None or not _is_name(token):
            raise self.expected_error(what, hint_for_name(token))
        self._index += 1
        return Name(token.text, self.script.place(token))

    def column_name(self, what: str = "a column name") -> Name:
        """The name of a column or a field, which cannot be one of Flink's reserved words."""
        token = self.current
        is_word = token is not None and token.token_type not in QUOTED and _is_name(token)
        if token is not None and is_word and is_reserved(token.text) and not self._takes_reserved:
            raise self.error(Code.SYNTAX, f'"{token.text}" is a reserved word', in_backticks(token.text))
        return self.name(what)

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
            raise self.expected_error(f"{what} in single quotes", self._quotes_hint())
        self._index += 1
        return Name(token.text, self.script.place(token))

    def integer(self) -> int:
        token = self.current
        if (
            token is None
            or token.token_type is not TokenType.NUMBER
            or not (token.text.isascii() and token.text.isdigit())
            or len(token.text) > _MOST_DIGITS
        ):
            raise self.expected_error("a whole number")
        self._index += 1
        return int(token.text)

    def read_list(self, what: str, read: Callable[[], T]) -> tuple[T, ...]:
        """`(item, item)`: an invalid item is recorded, and parsing continues after the comma that ends it."""
        self.expect("(")
        items: list[T] = []
        while True:
            begin = self._index
            try:
                if self.current is None or self.at(")"):
                    raise self.expected_error(what)
                items.append(read())
                if not self.at_any(",", ")"):
                    raise self._missing_separator()
            except ScriptError as error:
                self.noted += error.diagnostics
                self._skip_item(begin)
            if self.accept(")"):
                return tuple(items)
            if not self.accept(","):
                raise ScriptError(self.noted.pop())

    def if_not_exists(self) -> bool:
        if not self.accept("IF", "NOT"):
            return False
        self.expect("EXISTS")
        return True

    def column_names(self) -> tuple[Name, ...]:
        return self.read_list("a column name", self.column_name)

    def up_to(self, is_end: Callable[[], bool]) -> list[Token]:
        """The tokens, as sqlglot split them, up to an end outside parentheses, which is not consumed."""
        depth, start = 0, self._index
        while (token := self.current) is not None and not (depth == 0 and is_end()):
            depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
            self._index += 1
        return self._written[self._written_at[start] : self._written_at[self._index]]

    def rest(self) -> list[Token]:
        return self.up_to(lambda: False)

    def end(self, *clauses: str) -> None:
        """Raises if anything follows; `clauses` are those that could be used here."""
        if self.current is not None:
            following = next_statement(self._tokens, self._index)
            hint = following[1] if following else did_you_mean(self.current.text, clauses)
            raise self.expected_error("the end of the statement", hint)

    def here(self) -> Span:
        """The next token's position; at the end, the last token's."""
        return self.script.place(self.current or self._tokens[-1])

    def since(self, start: Token) -> Span:
        last = self._tokens[max(self._index - 1, 0)]
        return self.script.span(start.start, last.end + 1)

    def span_read(self) -> Span:
        """From the statement's first word to the last one that was consumed."""
        return self.since(self._tokens[0])

    def expected_error(self, what: str, hint: str | None = None) -> ScriptError:
        """The error that something else is expected here."""
        token = self.current
        if token is not None and token.token_type is TokenType.HINT:
            return self.unsupported_error("a hint in this place")
        found = f"found {self._describe(token)}" if token is not None else "the statement ends here"
        detail = None
        opened = open_parenthesis(self._tokens[: self._index])
        if opened is not None and (what == ")" or token is None or self.at_any(*_BEHIND_A_LIST)):
            place = self.script.place(opened)
            detail = f"The parenthesis opened at {place.line}:{place.column} is not closed."
        hint = hint or hint_at(token, self.ahead(-1)) or self._near_to(what)
        return ScriptError(Diagnostic(Code.SYNTAX, f"expected {what}, {found}", self.here(), detail, hint))

    def unsupported_error(self, what: str, hint: str | None = None) -> ScriptError:
        return self.error(Code.UNSUPPORTED_STATEMENT, f"{what} is not supported", hint)

    def error(self, code: Code, primary: str, hint: str | None = None) -> ScriptError:
        return ScriptError(Diagnostic(code, primary, self.here(), hint=hint))

    def _near_to(self, what: str) -> str | None:
        """The expected keyword that was probably meant."""
        token = self.current
        words = _KEYWORD.findall(what)
        return did_you_mean(token.text, words) if token is not None and token.token_type not in QUOTED else None

    def _describe(self, token: Token) -> str:
        return "a double quote" if is_mark(token, '"') else f'"{excerpt(self._format_token(token))}"'

    def _format_token(self, token: Token) -> str:
        """A parameter is shown by its name, since its value may be a secret."""
        written = self.script.place(token).text
        return token.text if written == self.script.text[token.start : token.end + 1] else written

    def _quotes_hint(self) -> str | None:
        token = self.current
        if token is None or self.at_any(",", ")", "(", "=", "==", '"'):
            return None
        return f"Put it in single quotes: '{excerpt(self._format_token(token))}'."

    def _missing_separator(self) -> ScriptError:
        token = self.current
        hint = None
        if token is not None and self.at_any(*_BEHIND_A_LIST):
            hint = f'Is a ) missing before "{token.text}"?'
        elif token is not None and (token.token_type is TokenType.STRING or _is_name(token)):
            hint = f'Is a comma missing before "{excerpt(self._format_token(token))}"?'
        return self.expected_error(", or )", hint)

    def _skip_item(self, begin: int) -> None:
        """Skips to the `,` or `)` that ends the item, ignoring those inside its own brackets."""
        self._index = begin
        depth = angles = 0
        while (token := self.current) is not None and not (depth == angles == 0 and self.at_any(",", ")")):
            depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
            if self.at("<") and is_mark(self.ahead(-1), *_ANGLED):
                angles += 1
            elif self.at(">") and angles:
                angles -= 1
            if depth < 0:
                return
            self._index += 1


def _words(script: Script, token: Token) -> Iterator[Token]:
    """Splits a keyword that sqlglot joins (`PRIMARY KEY`) into words, each with its own position."""
    if token.token_type in QUOTED or len(token.text.split()) <= 1:
        yield token
        return
    for match in _WORD.finditer(script.text, token.start, token.end + 1):
        if match["word"]:
            yield Token(TokenType.VAR, match["word"], token.line, token.col, match.start(), match.end() - 1)


def _is_name(token: Token) -> bool:
    if token.token_type in QUOTED:
        return token.token_type is TokenType.IDENTIFIER and bool(token.text)
    return _NAME.fullmatch(token.text) is not None and token.text.upper() not in RESERVED
