"""A script with its `${NAME}` parameters replaced, whose positions still map to the user's text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.secrets import is_secret, secret_places, secrets_in_urls
from millstream.sql.pieces import PIECES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlglot.tokenizer_core import Token

    from millstream.source import SourceText, Span

_PARAMETER: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
_NAME: Final = r"(?:\w+|`(?:[^`]|``)+`)"
_TEXT: Final = r"'(?:[^']|'')*+'"
_UNIT: Final = r"(?:YEAR|MONTH|DAY|HOUR|MINUTE|SECOND)(?:\s*\(\s*\d+\s*\))?"
_SINGLE_VALUE: Final = rf"""(?>
    [+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:E[+-]?\d+)?(?![\w.])
  | (?:INTERVAL\s*)?{_TEXT}\s*{_UNIT}(?:\s+TO\s+{_UNIT})?(?!\w)
  | (?:X|(?:DATE|TIME|TIMESTAMP)\s*)?{_TEXT}
  | (?:CHAR|VARCHAR|STRING|BOOLEAN|BINARY|VARBINARY|BYTES|DECIMAL|DEC|NUMERIC|TINYINT|SMALLINT|INT|INTEGER|BIGINT|FLOAT
      |DOUBLE(?:\s+PRECISION)?|DATE|TIME|TIMESTAMP|TIMESTAMP_LTZ)(?![\w.])
    (?:\s*\(\s*\d+\s*(?:,\s*\d+\s*)?\))?(?:\s+WITH(?:OUT|\s+LOCAL)?\s+TIME\s+ZONE)?(?:\s+NOT\s+NULL|\s+NULL)?(?!\w)
  | {_NAME}(?:\.{_NAME})*)"""
_VALUES: Final = re.compile(rf"{_SINGLE_VALUE}(?:\s*,\s*{_SINGLE_VALUE})*", re.VERBOSE | re.IGNORECASE)
"""The values that a parameter may have outside quotes: numbers, literals, simple types, names such as `a.b`, or words.

None of them adds SQL of its own. Each has only one way to match, so that matching takes linear time.
"""


@dataclass(frozen=True, slots=True)
class _Replacement:
    start: int
    """Where the value is in the expanded text."""
    end: int
    written: tuple[int, int]
    """Where the parameter is in the user's text."""


@dataclass(frozen=True, slots=True)
class Script:
    """`text` is what is parsed; `span` maps a position in it back to `source`, which the user wrote."""

    source: SourceText
    text: str
    replacements: tuple[_Replacement, ...] = ()

    def span(self, start: int, end: int) -> Span:
        return self.source.span(self._original(start, at_end=False), self._original(end, at_end=True))

    def place(self, token: Token) -> Span:
        return self.span(token.start, token.end + 1)

    def text_of(self, span: Span) -> str:
        """The text of a span, with parameters replaced; one that the span cuts is included completely."""
        pieces: list[str] = []
        taken = span.start
        for replacement in self.replacements:
            start, end = replacement.written
            if end <= span.start or start >= span.end:
                continue
            pieces += (span.source.text[taken:start], self.text[replacement.start : replacement.end])
            taken = end
        return "".join([*pieces, span.source.text[taken : span.end]])

    def _original(self, position: int, *, at_end: bool) -> int:
        shift = 0
        for replacement in self.replacements:
            if position < replacement.start or (at_end and position == replacement.start):
                break
            if position < replacement.end or (at_end and position == replacement.end):
                return replacement.written[1] if at_end else replacement.written[0]
            shift = replacement.written[1] - replacement.end
        return position + shift


_SHORTEST_SECRET: Final = 3
_SETTING_BEFORE: Final = re.compile(r"""(\w+)\s*=\s*["']?\Z""")
"""`username="${user}"` in the settings of a login module, of which only some are secret."""


def expand(source: SourceText, parameters: Mapping[str, str]) -> Script:
    """Replaces each `${NAME}` outside comments by a value that cannot affect its context; reports all problems.

    >>> expand(SourceText("s", "SELECT '${a}', ${b}"), {"a": "it's", "b": "1"}).text
    "SELECT 'it''s', 1"
    """
    pieces: list[str] = []
    replacements: list[_Replacement] = []
    problems: list[Diagnostic] = []
    length = taken = 0
    for match, quote in _parameters(source.text):
        name = match.group(1)
        span = source.span(match.start(), match.end())
        value = parameters.get(name)
        if value is None:
            problems.append(_missing_parameter_error(name, span, parameters))
            continue
        if not quote and not _VALUES.fullmatch(value := value.strip()):
            problems.append(_not_a_value(name, value, span))
            continue
        before = source.text[taken : match.start()]
        value = _quote(value, quote) if quote else _separate_sign(before, value)
        pieces += (before, value)
        length += len(before) + len(value)
        replacements.append(_Replacement(length - len(value), length, (match.start(), match.end())))
        taken = match.end()
    if problems:
        raise ScriptError(problems)
    hidden = {value for match, _ in _parameters(source.text) for value in _secrets(source.text, match, parameters)}
    source = replace(source, secrets=tuple(sorted(hidden, key=len, reverse=True)))
    return Script(source, "".join([*pieces, source.text[taken:]]), tuple(replacements))


def _secrets(text: str, match: re.Match[str], parameters: Mapping[str, str]) -> Iterator[str]:
    """The secret parts of a parameter's value, by its name, its position or its content."""
    name = match.group(1)
    value = parameters[name]
    found = [*secrets_in_urls(value)]
    if is_secret(name) or _is_secret_place(text, match):
        found.append(value)
    for secret in found:
        if len(secret) >= _SHORTEST_SECRET:
            yield from (secret, secret.replace("'", "''"))


def _is_secret_place(text: str, match: re.Match[str]) -> bool:
    start = next((start for start, end in secret_places(text) if start <= match.start() < end), None)
    if start is None:
        return False
    setting = _SETTING_BEFORE.search(text, start, match.start())
    return setting is None or is_secret(setting.group(1))


def _parameters(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each with the kind of quote around it, if any."""
    for piece in PIECES.finditer(text):
        if piece["open"]:
            return
        quote = text[piece.start()] if piece["quoted"] else ""
        if quote or piece["parameter"]:
            yield from ((match, quote) for match in _PARAMETER.finditer(text, piece.start(), piece.end()))


def _quote(value: str, quote: str) -> str:
    """The value as content of a literal or a quoted name, from which it cannot break out."""
    return value.replace(quote, quote * 2)


def _separate_sign(before: str, value: str) -> str:
    """`a -${b}` with -1 for b must not become a comment."""
    return f" {value}" if value.startswith(("-", "+")) and before.endswith(value[0]) else value


def _missing_parameter_error(name: str, span: Span, parameters: Mapping[str, str]) -> Diagnostic:
    known = ", ".join(sorted(parameters)) or "none"
    return Diagnostic(
        Code.MISSING_PARAMETER,
        f'parameter "{name}" has no value',
        span,
        detail=f"Parameters given: {known}.",
        hint=f"Add --param {name}=VALUE.",
    )


def _not_a_value(name: str, value: str, span: Span) -> Diagnostic:
    written = span.source.text
    detail = "Outside quotes, a parameter must be one identifier, number, literal or type, or a comma-separated list."
    hint = f"Write '${{{name}}}' for a text; else give a value of that kind, and write the rest in the script."
    if not value:
        primary = f'parameter "{name}" is empty'
        hint = f"Write '${{{name}}}' if it is a text that may be empty; else give it a value."
    elif written[span.start - 1 : span.start] == written[span.end : span.end + 1] == '"':
        primary = f'parameter "{name}" is in double quotes, which are not supported'
        detail = "Text goes in single quotes, a name in backticks."
        hint = f"Write '${{{name}}}', or `${{{name}}}` for a name."
    elif '"' in value:
        primary = f'the value of parameter "{name}" contains double quotes, which are not supported'
    else:
        primary = f'the value of parameter "{name}" cannot be used outside quotes'
    return Diagnostic(Code.BAD_ARGUMENT, primary, span, detail=detail, hint=hint)
