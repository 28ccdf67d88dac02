"""A piece of the user's text, and where in it something stands."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Final

from millstream.secrets import concealed, without_secrets

_TWO_COLUMNS: Final = frozenset("WF")
_NO_COLUMN: Final = frozenset({"Mn", "Me", "Cf"})


@dataclass(frozen=True, slots=True)
class SourceText:
    """A script as the user wrote it, with the name to call it by."""

    name: str
    text: str = field(repr=False)

    def line(self, number: int) -> str:
        """A line as it may be shown: the values of secret options are stars."""
        return concealed(self.text).split("\n")[number - 1]

    def discreet(self, message: str) -> str:
        """A message about this text as it may be shown."""
        return without_secrets(message, self.text)

    def span(self, start: int, end: int) -> Span:
        return Span(self, start, max(end, start + 1))


@dataclass(frozen=True, slots=True)
class Span:
    """The characters from `start` up to `end` of a source text."""

    source: SourceText
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.source.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        return self.start - (self.source.text.rfind("\n", 0, self.start) + 1) + 1

    @property
    def last(self) -> Span:
        """Its last character, which tells where it ends."""
        return Span(self.source, self.end - 1, self.end)

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def as_json(self) -> dict[str, str | int]:
        """Lines and columns count from 1; `end_column` is the one after the last."""
        return {
            "file": self.source.name,
            "line": self.line,
            "column": self.column,
            "end_line": self.last.line,
            "end_column": self.last.column + 1,
            "text": self.text,
        }

    def excerpt(self) -> str:
        """The line with a caret under the span, as compilers print it.

        >>> print(SourceText("a.sql", "SELECT x").span(7, 8).excerpt())
          --> a.sql:1:8
         1 | SELECT x
           |        ^
        """
        line = self.source.line(self.line).rstrip("\r")
        shown = line.expandtabs(1)
        before = self.column - 1
        marked = line[before : before + self.end - self.start]
        gutter = len(str(self.line))
        return "\n".join(
            (
                f"{' ' * gutter} --> {self.source.name}:{self.line}:{self.column}",
                f" {self.line} | {shown}",
                f" {' ' * gutter} | {' ' * _width(line[:before])}{'^' * max(1, _width(marked))}",
            )
        )


def _width(text: str) -> int:
    """How many columns of a terminal the text takes: 表 takes two, a combining accent none."""
    return sum(
        0
        if unicodedata.category(char) in _NO_COLUMN
        else 2
        if unicodedata.east_asian_width(char) in _TWO_COLUMNS
        else 1
        for char in text
    )
