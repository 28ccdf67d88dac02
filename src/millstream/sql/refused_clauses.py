"""What Flink's queries have and Millstream's do not: told from the tokens, so that each is refused by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.sql.slips import is_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot.tokenizer_core import Token

    from millstream.sql.script import Script

_WINDOWS: Final = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
_BEFORE_A_QUERY: Final = ("(", "UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT")
_CLAUSES: Final[dict[tuple[str, ...], str]] = {
    ("ON", "CONFLICT", "DO"): "INSERT … ON CONFLICT is not supported",
    ("MATCH_RECOGNIZE",): "MATCH_RECOGNIZE is not supported",
    **{
        words: f"window function {window} is not supported yet"
        for window in _WINDOWS
        for words in ((window, "(", "TABLE"), (window, "(", "DATA", "=>"))
    },
    ("LATERAL", "TABLE"): "LATERAL TABLE is not supported yet",
    ("UNNEST", "("): "UNNEST is not supported yet",
    ("TABLE", "("): "a table function is not supported yet",
}
"""The first of these that is found anywhere in the query is the one that is told."""


def refuse_clauses(script: Script, tokens: Sequence[Token]) -> None:
    for words, primary in _CLAUSES.items():
        for index in range(len(tokens)):
            found = tokens[index : index + len(words)]
            if len(found) == len(words) and all(map(is_mark, found, words)):
                named = [token for token, word in zip(found, words, strict=True) if word.isidentifier()]
                last = named[0] if words[0] in _WINDOWS else named[-1]
                raise _refused(script, primary, found[0], last)
    for before, token, name in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if is_mark(token, "TABLE") and (before is None or is_mark(before, *_BEFORE_A_QUERY)):
            primary, hint = "TABLE as a query is not supported yet", "Write SELECT * FROM and the table's name."
            raise _refused(script, primary, token, name, hint)


def _refused(script: Script, primary: str, first: Token, last: Token, hint: str | None = None) -> ScriptError:
    place = script.span(first.start, last.end + 1)
    return ScriptError(Diagnostic(Code.UNSUPPORTED_STATEMENT, primary, place, hint=hint))
