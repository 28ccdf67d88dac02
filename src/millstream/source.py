"""The user's text, and positions in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from millstream.display_width import display_width
from millstream.secrets import conceal, without_secrets, without_url_credentials, without_values

_MOST_SHOWN: Final = 160
_MOST_MARKED: Final = 100


@dataclass(frozen=True, slots=True)
class SourceText:
    """A script as the user wrote it, with its name."""

    name: str
    text: str = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Values of its parameters that must not be shown; the text itself contains only their names."""

    def excerpt(self, start: int, end: int) -> str:
        """A part of the text for display, on one line: secrets are masked, and a tab takes one column."""
        return conceal(self.text, start, end).replace("\t", " ")

    def discreet(self, message: str, at: int | None = None) -> str:
        """A message about this text, or about a position in it, with its secrets masked."""
        return without_url_credentials(without_secrets(without_values(message, self.secrets), self.text, at))

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
        """Its last character, for errors about its end."""
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
            "text": conceal(self.source.text, self.start, self.end),
        }

    def excerpt(self) -> str:
        """The line with a caret under the span, as compilers print it.

        >>> print(SourceText("a.sql", "SELECT x").span(7, 8).excerpt())
          --> a.sql:1:8
         1 | SELECT x
           |        ^
        """
        text = self.source.text
        begin = self.start - self.column + 1
        newline = text.find("\n", self.start)
        end = begin + len(text[begin : newline if newline >= 0 else len(text)].rstrip("\r"))
        stop = max(min(self.end, end), self.start)
        marked = _cut_to_width(self.source.excerpt(self.start, stop), _MOST_MARKED)
        room = _MOST_SHOWN - display_width(marked)
        before, after = self.source.excerpt(begin, self.start), self.source.excerpt(stop, end)
        before = _cut_to_width(before, max(room // 2, room - display_width(after)), from_end=True)
        after = _cut_to_width(after, room - display_width(before))
        gutter = len(str(self.line))
        return "\n".join(
            (
                f"{' ' * gutter} --> {self.source.name}:{self.line}:{self.column}",
                f" {self.line} | {before}{marked}{after}",
                f" {' ' * gutter} | {' ' * display_width(before)}{'^' * max(1, display_width(marked))}",
            )
        )


def _cut_to_width(text: str, columns: int, *, from_end: bool = False) -> str:
    """As much of the text as fits, with … where it was cut."""
    if display_width(text) <= columns:
        return text
    kept: list[str] = []
    left = columns - 1
    for char in reversed(text) if from_end else text:
        left -= display_width(char)
        if left < 0:
            break
        kept.append(char)
    return "".join(["…", *reversed(kept)] if from_end else [*kept, "…"])
