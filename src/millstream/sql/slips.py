"""Recognises common mistakes from the tokens around the place where parsing stopped."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from sqlglot.tokenizer_core import TokenType

from millstream.spelling import nearest
from millstream.sql.pieces import QUOTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlglot.tokenizer_core import Token

# fmt: off
RESERVED: Final = frozenset({
    "ALL", "ALTER", "AND", "AS", "BETWEEN", "BY", "CASE", "CAST", "CONSTRAINT", "CREATE", "CROSS", "DELETE",
    "DISTINCT", "DROP", "ELSE", "END", "EXCEPT", "EXISTS", "FROM", "FULL", "GROUP", "HAVING", "IN", "INNER",
    "INSERT", "INTERSECT", "INTO", "IS", "JOIN", "LEFT", "LIKE", "LIMIT", "NATURAL", "NOT", "NULL", "ON", "OR",
    "ORDER", "OUTER", "PARTITION", "PRIMARY", "RIGHT", "SELECT", "SET", "TABLE", "THEN", "UNION", "UNIQUE",
    "UNNEST", "UPDATE", "USING", "VALUES", "WHEN", "WHERE", "WITH",
})
# fmt: on
"""Words that are names only in backticks. Flink reserves more; those may be names of tables, views and functions."""

_CLAUSES: Final = (
    "EXCEPT", "FROM", "GROUP BY", "HAVING", "INTERSECT", "LIMIT", "ORDER BY", "UNION", "WHERE",
)  # fmt: skip
_GO_ON: Final = (",", "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "PARTITION BY", "ON", "JOIN")
"""After these, something must follow before the next clause, a closing parenthesis or the end."""


def is_mark(token: Token | None, *marks: str) -> bool:
    return token is not None and token.token_type not in QUOTED and token.text.upper() in marks


_KEYWORDS: Final = {
    **{word: word for word in ("EXCEPT", "FROM", "HAVING", "INTERSECT", "JOIN", "LIMIT", "SELECT", "UNION", "VALUES")},
    **{word: word for word in ("WHERE", "WITH")},
    "GROUP": "GROUP BY",
    "GROUPBY": "GROUP BY",
    "ORDER": "ORDER BY",
    "ORDERBY": "ORDER BY",
}
_SHORTEST_TYPO: Final = 3
_BEGIN: Final = (
    "ALTER", "CREATE", "DESC", "DESCRIBE", "DROP", "EXECUTE", "EXPLAIN", "INSERT", "RESET", "SELECT", "SET", "SHOW",
)  # fmt: skip
_BEHIND_A_NAME: Final = (
    "=",
    "<>",
    "<",
    ">",
    "<=",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "||",
    ",",
    ")",
    ".",
    "AS",
    "IS",
    "AND",
    "OR",
)


def excerpt(text: str, longest: int = 40) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def did_you_mean(written: str, words: Iterable[str]) -> str | None:
    near = nearest(written, words)
    return f"Did you mean {near}?" if near else None


def hint_at(found: Token | None, before: Token | None) -> str | None:
    """What was probably meant by the token at which parsing stopped."""
    if is_mark(found, '"'):
        return "Write text in single quotes, 'text', and names in backticks, `name`."
    if is_mark(found, "=="):
        return "Write a single = here."
    if is_mark(before, ",") and is_mark(found, ")", *_CLAUSES):
        return "Remove the comma before it."
    return None


def hint_for_name(found: Token | None) -> str | None:
    """A reserved word where a name is expected."""
    return in_backticks(found.text) if found is not None and is_mark(found, *RESERVED) else None


def in_backticks(word: str) -> str:
    return f"If it is meant as a name, write it in backticks: `{word}`."


def find_word_used_as_name(found: Token, following: Token | None) -> str | None:
    """A reserved word where an operand is expected, followed by what can follow a name."""
    return hint_for_name(found) if following is None or is_mark(following, *_BEHIND_A_NAME) else None


def misspelt_keyword(tokens: Sequence[Token], stopped: int) -> tuple[Token, str] | None:
    """A typo in a keyword is parsed as a name, so parsing stops at it or right after it."""
    for token in reversed(tokens[max(stopped - 1, 0) : stopped + 1]):
        if token.token_type not in QUOTED and len(token.text) >= _SHORTEST_TYPO and token.text.upper() not in RESERVED:
            near = nearest(token.text, _KEYWORDS, may_be_right=True)
            if near is not None:
                return token, f"Did you mean {_KEYWORDS[near]}?"
    return None


def next_statement(tokens: Sequence[Token], stopped: int) -> tuple[Token, str] | None:
    """The first word of another statement: SHOW, for example, was parsed as an alias, and parsing stopped after it."""
    for token in reversed(tokens[max(stopped - 1, 1) : stopped + 1]):
        if is_mark(token, *_BEGIN):
            return token, f'Is a ; missing before "{token.text}"?'
    return None


def open_parenthesis(tokens: Sequence[Token]) -> Token | None:
    """The innermost parenthesis that these tokens open but do not close."""
    opened: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            opened.append(token)
        elif token.token_type is TokenType.R_PAREN and opened:
            opened.pop()
    return opened[-1] if opened else None


def innermost(tokens: Sequence[Token]) -> Token:
    """The first token inside the most parentheses and CASEs."""
    depth, deepest, found = 0, 0, tokens[0]
    for token in tokens:
        depth += is_mark(token, "(", "CASE") - is_mark(token, ")", "END")
        if depth > deepest:
            deepest, found = depth, token
    return found


def find_joined_numbers(tokens: Sequence[Token], text: str) -> Iterator[tuple[Token, Token]]:
    """First and last token of each `1_000` or `0x1F`, which sqlglot reads as a number with an alias, or as bytes."""
    for token, following in pairwise([*tokens, None]):
        assert token is not None
        if text[token.start : token.start + 2].lower() == "0x":
            yield token, token
        elif (
            token.token_type is TokenType.NUMBER
            and following is not None
            and following.token_type is TokenType.VAR
            and following.start == token.end + 1
        ):
            yield token, following


def slips_in_query(tokens: Sequence[Token]) -> Iterator[tuple[Token, str]]:
    """What sqlglot would accept, or reject without a reason: the token, and what is wrong with it."""
    for token, following in pairwise([*tokens, None]):
        assert token is not None
        if is_mark(token, '"'):
            yield token, "double quotes are not supported"
        elif is_mark(token, "=="):
            yield token, "== is not an operator"
        elif is_mark(token, "IF") and not is_mark(following, "("):
            yield token, "expected ( after IF"
        elif is_mark(token, *_GO_ON) and following is None:
            yield token, f"the statement ends after {token.text.upper()}"
        elif is_mark(token, *_GO_ON) and following is not None and is_mark(following, ")", *_CLAUSES):
            yield following, f'expected an expression, found "{following.text}"'
