"""The layout of a JSON message: its text, but for the values in it.

What a program writes to a topic differs in its values alone, nearly always. Whoever knows the layout need not parse
such messages: only look for where each value ends. See docs/adr/0025-json-by-layout.md.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    Path: TypeAlias = tuple[str, ...]

_LONGEST: Final = 4096
"""Longer messages have long values, on which the parser is no slower."""
_MOST_HOLES: Final = 100
"""Of a message with more, nearly all values are walked past in vain, unless most columns are wanted."""
_TOKEN: Final = re.compile(
    rb"""(?P<mark>[{}:,][ ]*|[ ]+)|"(?P<string>[^"\\\x00-\x1f]*)"|(?P<bare>-?[0-9]+(?:\.[0-9]+)?|true|false|null)""",
    re.VERBOSE,
)


class Hole(Enum):
    """A value, which differs from message to message."""

    STRING = "string"
    BARE = "bare"
    """A number, a boolean or null."""


@dataclass(frozen=True, slots=True)
class Layout:
    """`texts` surround `holes`: there is one more of them."""

    texts: tuple[bytes, ...]
    holes: tuple[Hole, ...]
    places: dict[Path, int]
    """The number of the hole, by the names that lead to it."""
    objects: frozenset[Path]


def find_layout(message: bytes) -> Layout | None:
    """The layout of a message, unless it is not an object, or has lists, escapes or the like."""
    if len(message) > _LONGEST:
        return None
    try:
        is_object = isinstance(json.loads(message), dict)  # the grammar is checked here, so that the tokens need not be
        tokens = _split(message) if is_object else None
        if tokens is None:
            return None
        reading = _Reading(iter(tokens))
        if not reading.read_value(()) or len(reading.holes) > _MOST_HOLES:
            return None
    except (ValueError, RecursionError):
        return None
    reading.close()
    return Layout(tuple(reading.texts), tuple(reading.holes), reading.places, frozenset(reading.objects))


def _split(message: bytes) -> list[re.Match[bytes]] | None:
    tokens: list[re.Match[bytes]] = []
    end = 0
    while end < len(message):
        token = _TOKEN.match(message, end)
        if token is None:
            return None
        tokens.append(token)
        end = token.end()
    return tokens


class _Reading:
    """Goes through the tokens of a valid message once."""

    def __init__(self, tokens: Iterator[re.Match[bytes]]) -> None:
        self._tokens = tokens
        self._text = bytearray()
        self.texts: list[bytes] = []
        self.holes: list[Hole] = []
        self.places: dict[Path, int] = {}
        self.objects: set[Path] = set()

    def read_value(self, path: Path) -> bool:
        """Whether no name occurs twice in it."""
        token = self._next()
        if token.lastgroup == "string":
            self._text += b'"'
            self._add_hole(path, Hole.STRING)
            self._text += b'"'
        elif token.lastgroup == "bare":
            self._add_hole(path, Hole.BARE)
        else:
            self._text += token[0]
            self.objects.add(path)
            return self._read_members(path)
        return True

    def close(self) -> None:
        self._text += b"".join(token[0] for token in self._tokens)  # blanks
        self.texts.append(bytes(self._text))

    def _read_members(self, path: Path) -> bool:
        names: set[str] = set()
        while not (token := self._next())[0].startswith(b"}"):
            self._text += token[0]
            if token.lastgroup != "string":  # a comma
                continue
            name = token["string"].decode()
            self._text += self._next()[0]  # a colon
            if name in names or not self.read_value((*path, name)):
                return False
            names.add(name)
        self._text += token[0]
        return True

    def _next(self) -> re.Match[bytes]:
        """The next token that is not blank. Blanks are a part of the text."""
        while not (token := next(self._tokens))[0].strip():
            self._text += token[0]
        return token

    def _add_hole(self, path: Path, hole: Hole) -> None:
        self.places[path] = len(self.holes)
        self.holes.append(hole)
        self.texts.append(bytes(self._text))
        self._text.clear()
