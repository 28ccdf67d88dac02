"""A piece of the user's text, and where in it something stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.secrets import concealed, without_secrets


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

    def excerpt(self) -> str:
        """The line with a caret under the span, as compilers print it.

        >>> print(SourceText("a.sql", "SELECT x").span(7, 8).excerpt())
          --> a.sql:1:8
         1 | SELECT x
           |        ^
        """
        line = self.source.line(self.line)
        shown = line.expandtabs(1)
        width = max(1, min(self.end - self.start, len(line) - self.column + 1))
        gutter = len(str(self.line))
        return "\n".join(
            (
                f"{' ' * gutter} --> {self.source.name}:{self.line}:{self.column}",
                f" {self.line} | {shown}",
                f" {' ' * gutter} | {' ' * (self.column - 1)}{'^' * width}",
            )
        )
