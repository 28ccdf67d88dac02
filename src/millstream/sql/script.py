"""A script with its `${NAME}` parameters filled in, still able to point into what the user wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlglot.tokenizer_core import Token

    from millstream.source import SourceText, Span

_PARAMETER: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
_PIECES: Final = re.compile(
    rf"""(?P<quoted>'(?:[^']|'')*'|`[^`]*`)
       | (?P<hint>/\*\+)
       | (?P<comment>--[^\n]*|/\*.*?\*/)
       | (?P<parameter>{_PARAMETER.pattern})""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Replacement:
    start: int
    """Where the value stands in the expanded text."""
    end: int
    written: tuple[int, int]
    """Where the parameter stands in the user's text."""


@dataclass(frozen=True, slots=True)
class Script:
    """`text` is what is parsed; `span` maps a place in it back to `source`, what the user wrote."""

    source: SourceText
    text: str
    replacements: tuple[_Replacement, ...] = ()

    def span(self, start: int, end: int) -> Span:
        return self.source.span(self._original(start, at_end=False), self._original(end, at_end=True))

    def place(self, token: Token) -> Span:
        return self.span(token.start, token.end + 1)

    def offset(self, line: int, column: int) -> int:
        """Where line and column, as sqlglot counts them, stand in `text`."""
        return sum(len(before) + 1 for before in self.text.split("\n")[: line - 1]) + column

    def _original(self, position: int, *, at_end: bool) -> int:
        shift = 0
        for replacement in self.replacements:
            if position < replacement.start or (at_end and position == replacement.start):
                break
            if position < replacement.end or (at_end and position == replacement.end):
                return replacement.written[1] if at_end else replacement.written[0]
            shift = replacement.written[1] - replacement.end
        return position + shift


def expand(source: SourceText, parameters: Mapping[str, str]) -> Script:
    """Replaces each `${NAME}` outside comments; all that have no value are reported at once."""
    pieces: list[str] = []
    replacements: list[_Replacement] = []
    problems: list[Diagnostic] = []
    length = taken = 0
    for match in _parameters(source.text):
        name = match.group(1)
        value = parameters.get(name)
        if value is None:
            problems.append(_missing(name, source.span(match.start(), match.end()), parameters))
            continue
        pieces += (source.text[taken : match.start()], value)
        length += match.start() - taken + len(value)
        replacements.append(_Replacement(length - len(value), length, (match.start(), match.end())))
        taken = match.end()
    if problems:
        raise ScriptError(problems)
    return Script(source, "".join([*pieces, source.text[taken:]]), tuple(replacements))


def hints(script: Script) -> Iterator[Span]:
    """Where a hint `/*+ … */` begins."""
    for piece in _PIECES.finditer(script.text):
        if piece["hint"]:
            yield script.span(piece.start(), piece.end())


def _parameters(text: str) -> Iterator[re.Match[str]]:
    for piece in _PIECES.finditer(text):
        if piece["quoted"] or piece["parameter"]:
            yield from _PARAMETER.finditer(text, piece.start(), piece.end())


def _missing(name: str, span: Span, parameters: Mapping[str, str]) -> Diagnostic:
    given = ", ".join(sorted(parameters)) or "none"
    return Diagnostic(
        Code.MISSING_PARAMETER,
        f'parameter "{name}" has no value',
        span,
        detail=f"Parameters given: {given}.",
        hint=f"Add --param {name}=VALUE.",
    )
