"""Refuses clauses that Flink supports and Millstream does not, each by name, from the tokens of a query."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.alternatives import ALTERNATIVES, WINDOWS
from millstream.sql.slips import is_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot.tokenizer_core import Token

    from millstream.sql.script import Script

_BEFORE_A_QUERY: Final = ("(", "UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT")
_CLAUSES: Final[dict[tuple[str, ...], str]] = {
    ("ON", "CONFLICT", "DO"): "INSERT … ON CONFLICT",
    ("MATCH_RECOGNIZE",): "MATCH_RECOGNIZE",
    **{
        words: f"window function {window}"
        for window in WINDOWS
        for words in ((window, "(", "TABLE"), (window, "(", "DATA", "=>"))
    },
    ("TABLE", "("): "a table function",
    (")", "WITH", "OFFSET"): "UNNEST … WITH OFFSET",
}
"""Only the first of these that occurs anywhere in the query is reported."""


def refuse_clauses(script: Script, tokens: Sequence[Token]) -> None:
    for words, what in _CLAUSES.items():
        for index in range(len(tokens)):
            found = tokens[index : index + len(words)]
            is_lateral = index > 0 and is_mark(tokens[index - 1], "LATERAL")
            if len(found) == len(words) and all(map(is_mark, found, words)) and not is_lateral:
                named = [token for token, word in zip(found, words, strict=True) if word.isidentifier()]
                raise _refuse(script, what, found[0], named[0] if words[0] in WINDOWS else named[-1])
    for before, token, name in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if is_mark(token, "TABLE") and (before is None or is_mark(before, *_BEFORE_A_QUERY)):
            raise _refuse(script, "TABLE as a query", token, name)


def refuse_named_arguments(script: Script, tokens: Sequence[Token]) -> None:
    """`f(name => value)`."""
    for name, arrow in pairwise(tokens):
        if is_mark(arrow, "=>"):
            raise ScriptError(
                Diagnostic(
                    Code.UNSUPPORTED_EXPRESSION,
                    "arguments by name are not supported yet",
                    script.span(name.start, arrow.end + 1),
                    hint="Write the arguments in the order of the function's parameters, without their names.",
                )
            )


def _refuse(script: Script, what: str, first: Token, last: Token) -> ScriptError:
    place, primary = script.span(first.start, last.end + 1), f"{what} is not supported yet"
    return ScriptError(Diagnostic(Code.UNSUPPORTED_STATEMENT, primary, place, hint=ALTERNATIVES[what]))
