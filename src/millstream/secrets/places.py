"""Finds secrets in a script, which need not be valid SQL."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from millstream.secrets.keys import is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GAP: Final = r"(?>\s|--[^\n]*|/\*(?!\+)(?>[^*]|\*(?!/))*\*/)*"
_PAIR: Final = re.compile(
    rf"""(?:'(?P<key>[^'\s=,()]+)'|"(?P<doubled>[^"'\s=,()]+)"|`(?P<ticked>[^`'\s=,()]+)`
          |(?<![\w.-])(?P<dotted>\w[\w-]*+(?:\.[\w-]++){{2,}}+)(?={_GAP}=)
          |(?<![\w.-])(?P<name>\w[\w-]*+(?:\.[\w-]++)?+)(?=\s{{0,99}}=))
        {_GAP}(?P<sign>[=:>]*){_GAP}""",
    re.VERBOSE,
)
"""A key and everything up to its value; in a query, a name or a name in backticks may be a column.

It matches in any text, even if quotes do not match; `_TOKENS` finds what requires parsing them correctly.
"""
_TOKENS: Final = re.compile(
    r"""(?P<comment>--[^\n]*|/\*(?!\+).*?\*/)
      | '(?P<text>(?:[^']|'')*+)'
      | (?P<sign>[=:>]+)
      | (?P<end>[,;)]|\*/)
      | (?P<other>"[^"\n]*"|`[^`]*`|[^\s'"`,;()=:>/*-]+|\S)""",
    re.DOTALL | re.VERBOSE,
)
_QUERY: Final = frozenset({"SELECT", "VALUES", "WHERE", "HAVING"})
_NO_QUERY: Final = frozenset({";", "WITH", "OPTIONS", "SET", "CREATE", "ALTER"})
_QUOTED_VALUE: Final = re.compile(r"'(?P<inside>(?:[^']|'')*)")
_UNQUOTED_VALUE: Final = re.compile(r"\"(?P<inside>[^\"\n]*)|(?P<bare>[^\s,()'\"\]][^'\n]*)")
_UNSIGNED_VALUE: Final = re.compile(r"\"(?P<inside>[^\"\n]*)|(?P<bare>[^\s,;()'\"\]]+)(?=[ \t\r]*(?:[,;)\n]|$))")
CREDENTIALS: Final = re.compile(r"://(?:[^\s'\"@/:,]{0,200}:)?(?P<inside>[^\s'\"]{0,5000})@")
_URL_PARAMETER: Final = re.compile(r"(?<=[?&])(?P<key>[\w.-]{1,100})=(?P<inside>[^\s'\"&#]+)")
_SIGNATURES: Final = ("sig", "signature")
_ENTRY: Final = re.compile(r"(?<=['\s,;])(?P<key>[\w-]+(?:\.[\w-]+)+):(?P<inside>[^'\n]*)")
"""`'basic.auth.user.info:user:password'`, as options that hold a map are written."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """The structure of a text, as far as it determines where a key may be."""

    tokens: tuple[re.Match[str], ...]
    """Without comments."""
    comments: tuple[tuple[int, int], ...]
    """Including the characters that end them."""
    queries: tuple[tuple[int, int], ...]
    """Where names and texts are compared; none after an unclosed quote, since the rest may be misread."""

    def comment_end(self, place: int) -> int | None:
        return _end_around(self.comments, place)

    def statement(self, place: int, length: int) -> tuple[int, int]:
        """The range of the statement around a position."""
        ends = [token.start() for token in self.tokens if token.group() == ";"]
        before = max((end for end in ends if end < place), default=0)
        return before, min((end for end in ends if end >= place), default=length)

    def is_in_query(self, place: int) -> bool:
        return _end_around(self.queries, place) is not None


def _end_around(spans: tuple[tuple[int, int], ...], place: int) -> int | None:
    """The end of the span that contains a position; spans are in order."""
    at = bisect_right(spans, place, key=lambda span: span[0]) - 1
    return spans[at][1] if at >= 0 and place < spans[at][1] else None


class _Place(NamedTuple):
    start: int
    end: int
    is_bare: bool = False
    """Whether it is read as a value although it has no quotes: its words may be ordinary ones."""


def secret_places(text: str) -> tuple[tuple[int, int], ...]:
    """The ranges of secrets in a script, in order; adjacent ones are merged."""
    return tuple((place.start, place.end) for place in _places(text))


def secret_values(text: str, at: int | None = None) -> Iterator[str]:
    """The secrets, for messages about a position: bare values, and their words, count in their own statement only."""
    layout = _layout(text)
    first, last = (0, 0) if at is None else layout.statement(at, len(text))
    for start, end, is_bare in _places(text):
        value = text[start:end].strip()
        if value and not is_bare:
            yield value
        elif value and first <= start < last and layout.comment_end(start) is None:
            yield value
            yield from re.findall(r"\w{3,}", value)


@lru_cache(maxsize=8)
def _places(text: str) -> tuple[_Place, ...]:
    layout = _layout(text)
    merged: list[_Place] = []
    found = (*_places_in_any_text(text, layout), *_places_between_tokens(layout))
    for place in sorted(found, key=lambda place: (place.start, -place.end)):
        if not merged or place.start >= merged[-1].end:
            merged += (place,) if place.start < place.end else ()
        elif place.end > merged[-1].end:
            last = merged.pop()
            merged.append(_Place(last.start, place.end, last.is_bare or place.is_bare))
    return tuple(merged)


def secrets_in_url_parameters(value: str) -> Iterator[re.Match[str]]:
    """`https://registry/path?token=tiger`."""
    for found in _URL_PARAMETER.finditer(value):
        if is_secret(found["key"]) or found["key"].lower().endswith(_SIGNATURES):
            yield found


@lru_cache(maxsize=8)
def _layout(text: str) -> _Layout:
    every = tuple(_TOKENS.finditer(text))
    tokens = tuple(token for token in every if token["comment"] is None)
    comments = tuple(
        (token.start(), token.end() - 2 * token.group().endswith("*/"))
        for token in every
        if token["comment"] is not None
    )
    is_open = any(token.group() == "'" for token in tokens)
    return _Layout(tokens, comments, () if is_open else tuple(_queries(tokens, len(text))))


def _queries(tokens: Sequence[re.Match[str]], length: int) -> Iterator[tuple[int, int]]:
    start: int | None = None
    for token in tokens:
        word = token.group().upper()
        if start is None and word in _QUERY:
            start = token.start()
        elif start is not None and word in _NO_QUERY:
            yield start, token.start()
            start = None
    if start is not None:
        yield start, length


def _places_in_any_text(text: str, layout: _Layout) -> Iterator[_Place]:
    for pair in _PAIR.finditer(text):
        if is_secret(pair["key"] or pair["doubled"] or pair["ticked"] or pair["dotted"] or pair["name"]):
            yield from _value_places(text, layout, pair.start())
    for found in CREDENTIALS.finditer(text):
        yield _Place(*found.span("inside"))
    for found in secrets_in_url_parameters(text):
        yield _Place(*found.span("inside"))
    for found in _ENTRY.finditer(text):
        if is_secret(found["key"]):
            yield _Place(*found.span("inside"))


def _places_between_tokens(layout: _Layout) -> Iterator[_Place]:
    """The text after `'key' =`, up to a comma, a parenthesis or the next key: `('a')`, `x'0F'`, `'a' 'b'`."""
    tokens = layout.tokens
    for at, (key, sign) in enumerate(pairwise(tokens)):
        if key["text"] is None or sign["sign"] is None or not is_secret(key["text"]):
            continue
        value = _value_tokens(tokens, at + 2)
        if value and value[0]["text"] is not None and (len(value) == 1 or layout.is_in_query(key.start())):
            yield _Place(*value[0].span("text"))
        elif value and not layout.is_in_query(key.start()):
            yield _Place(value[0].start(), value[-1].end(), is_bare=True)


def _value_tokens(tokens: Sequence[re.Match[str]], first: int) -> Sequence[re.Match[str]]:
    opened = 0
    for at in range(first, len(tokens)):
        opened += tokens[at].group() == "("
        is_key = tokens[at]["text"] is not None and at + 1 < len(tokens) and tokens[at + 1]["sign"] is not None
        if (tokens[at]["end"] and not opened) or (is_key and at > first):
            return tokens[first:at]
        opened -= tokens[at].group() == ")"
    return tokens[first:]


def _value_places(text: str, layout: _Layout, at: int) -> Iterator[_Place]:
    """The value after the key, which ends with the comment that contains it; in a query, only a text is a value."""
    end = layout.comment_end(at)
    stop = len(text) if end is None else end
    pair = _PAIR.match(text, at, stop)
    if pair is None:
        return
    is_query = end is None and layout.is_in_query(at)
    if is_query and (pair["ticked"] or pair["name"]):
        return
    value = _QUOTED_VALUE.match(text, pair.end(), stop)
    if value is None and not is_query:
        value = (_UNQUOTED_VALUE if pair["sign"] else _UNSIGNED_VALUE).match(text, pair.end(), stop)
    if value is not None and value["inside"] is not None:
        yield _Place(*value.span("inside"), is_bare=value.re is not _QUOTED_VALUE)
    elif value is not None:
        yield _Place(value.start(), value.start() + len(value.group().rstrip(" \t\r,);")), is_bare=True)
