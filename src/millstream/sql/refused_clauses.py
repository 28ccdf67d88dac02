"""Refuses clauses that Flink supports and Millstream does not, each by name, from the tokens of a query."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.alternatives import ALTERNATIVES
from millstream.sql.slips import is_mark
from millstream.sql.window_parser import WINDOW_PARAMETERS, window_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot.tokenizer_core import Token

    from millstream.sql.script import Script

_BEFORE_A_QUERY: Final = ("(", "UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT")
_TABLE_FUNCTION: Final = ("TABLE", "(")
_CLAUSES: Final[dict[tuple[str, ...], str]] = {
    ("ON", "CONFLICT", "DO"): "INSERT … ON CONFLICT",
    ("MATCH_RECOGNIZE",): "MATCH_RECOGNIZE",
    _TABLE_FUNCTION: "a table function",
    (")", "WITH", "OFFSET"): "UNNEST … WITH OFFSET",
}
"""Only the first of these that occurs anywhere in the query is reported."""


def refuse_clauses(script: Script, tokens: Sequence[Token]) -> None:
    for words, what in _CLAUSES.items():
        for index in range(len(tokens)):
            found = tokens[index : index + len(words)]
            is_known = (index > 0 and is_mark(tokens[index - 1], "LATERAL")) or (
                words == _TABLE_FUNCTION and window_call(tokens, index + len(words))
            )
            if len(found) == len(words) and all(map(is_mark, found, words)) and not is_known:
                named = [token for token, word in zip(found, words, strict=True) if word.isidentifier()]
                raise _refuse(script, what, found[0], named[-1])
    for index, (token, name) in enumerate(pairwise(tokens)):
        is_argument = index > 1 and window_call(tokens, index - 2)
        if is_mark(token, "TABLE") and not is_argument and (not index or is_mark(tokens[index - 1], *_BEFORE_A_QUERY)):
            raise _refuse(script, "TABLE as a query", token, name)


def refuse_named_arguments(script: Script, tokens: Sequence[Token]) -> None:
    """`f(name => value)`, but for the functions that make windows."""
    called: list[Token | None] = [None]
    for before, name, arrow in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if is_mark(name, "("):
            called.append(before)
        elif is_mark(name, ")") and len(called) > 1:
            called.pop()
        if is_mark(arrow, "=>") and not is_mark(called[-1], *WINDOW_PARAMETERS):
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
