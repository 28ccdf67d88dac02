"""Reads the lines of a script test one by one, with errors that name the line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic, ScriptError
from millstream.testing.script_messages import parse_message
from millstream.testing.script_steps import Block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.source import SourceText, Span
    from millstream.testing.script_messages import Message

_STEP_MARKS: Final = ("$", ">", "!", "?")
_CODE: Final = re.compile(r"M\d{4}")


class ScriptLines:
    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._lines = source.text.split("\n")
        self._next = 0

    @property
    def number(self) -> int:
        """The number of the line that `take` will return, from 1."""
        return self._next + 1

    def at_end(self) -> bool:
        return self._next >= len(self._lines)

    def at_step(self) -> bool:
        return self.peek().startswith(_STEP_MARKS)

    def at_indented(self) -> bool:
        return self.peek()[:1].isspace() and not self.peek().isspace()

    def peek(self) -> str:
        return "" if self.at_end() else self._lines[self._next]

    def take(self) -> str:
        line = self.peek()
        self._next += 1
        return line

    def skip_to_next(self) -> bool:
        """Skips blank lines and comments; returns whether another line follows."""
        while not self.at_end() and _is_blank(self.peek()):
            self.take()
        return not self.at_end()

    def read_messages(self) -> tuple[tuple[Message, ...], Block]:
        """The messages up to the next step."""
        first = self.number
        messages, end = [], first
        for number, line in self._up_to_step():
            try:
                messages.append(parse_message(line))
            except ValueError as error:
                raise self.error(number, f"the message cannot be read: {error}") from None
            end = number + 1
        return tuple(messages), Block(first, end)

    def read_lines(self) -> tuple[tuple[str, ...], Block]:
        """The expected output, up to the next step."""
        first = self.number
        lines, end = [], first
        for number, line in self._up_to_step():
            lines.append(line.rstrip())
            end = number + 1
        return tuple(lines), Block(first, end)

    def read_error(self, step: int) -> tuple[tuple[str, ...], tuple[str, ...], Block]:
        """The `code:` and `contains:` lines up to the next step; the block covers the codes."""
        first = self.number
        codes: list[str] = []
        contains: list[str] = []
        end = first
        for number, line in self._up_to_step():
            name, colon, value = (part.strip() for part in line.partition(":"))
            if name == "code" and _CODE.fullmatch(value) and not contains:
                codes.append(value)
                end = number + 1
            elif name == "contains" and colon and value:
                contains.append(value)
            else:
                raise self.error(number, "expected code: M1234, and after all codes contains: TEXT")
        if not codes:
            raise self.error(step, "what must fail needs its code on the next line, e.g. code: M2001")
        return tuple(codes), tuple(contains), Block(first, end)

    def span(self, number: int) -> Span:
        start = sum(len(line) + 1 for line in self._lines[: number - 1])
        return self._source.span(start, start + len(self._lines[number - 1]))

    def error(self, number: int, primary: str) -> ScriptError:
        return ScriptError(Diagnostic(Code.SYNTAX, primary, self.span(number)))

    def _up_to_step(self) -> Iterator[tuple[int, str]]:
        while self.skip_to_next() and not self.at_step():
            yield self.number, self.take()


def _is_blank(line: str) -> bool:
    stripped = line.strip()
    return not stripped or stripped.startswith("#")
