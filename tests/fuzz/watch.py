"""Watches a process that decodes messages, finds out which of them end it, and reduces these."""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from tests.fuzz.examination import SECONDS, Tally, serve
from tests.fuzz.shrinking import Shrinking

if TYPE_CHECKING:
    from types import TracebackType

    from tests.fuzz.tables import Message, Table

_STUCK_SECONDS: Final = 120
_ATTEMPTS: Final = 40
"""To reduce a finding: some of them start a new process."""
_ENDS: Final = {
    -signal.SIGPROF: f"more than {SECONDS:.0f} s of processor time for a message",
    -signal.SIGKILL: f"no answer within {_STUCK_SECONDS} s",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, and the messages that reveal it, usually one."""

    table: Table
    messages: list[Message]
    wrong: str

    @property
    def kind(self) -> str:
        """Identifies equal findings: the text without its values."""
        return f"{self.table.format}: {self.wrong.split(':')[0]}"

    def __str__(self) -> str:
        messages = ", ".join(f"({_literal(key)}, {_literal(value)})" for key, value in self.messages)
        return f"{self.wrong}\n  {self.table}\n  (key, value): {messages}"


def _literal(half: bytes | None) -> str:
    """A Python literal; long runs of one byte as a product."""
    if half is None or len(half) < 200:
        return repr(half)
    parts: list[tuple[bytes, int]] = []
    for width in (1, 2, 3, 5):
        parts = _runs(half, width)
        if len(parts) < 40:
            break
    return " + ".join(f"{part!r} * {times}" if times > 1 else repr(part) for part, times in parts)


def _runs(content: bytes, width: int) -> list[tuple[bytes, int]]:
    parts: list[tuple[bytes, int]] = []
    at = 0
    while at < len(content):
        unit, times = content[at : at + width], 1
        while content[at + times * width : at + (times + 1) * width] == unit:
            times += 1
        if times * width >= 20 or not parts or parts[-1][1] > 1:
            parts.append((unit, times) if times * width >= 20 else (content[at : at + 1], 1))
            at += times * width if times * width >= 20 else 1
        else:
            parts[-1] = (parts[-1][0] + content[at : at + 1], 1)
            at += 1
    return parts


class Watch:
    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._folder = tempfile.TemporaryDirectory(prefix="millstream-fuzz-")
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._connection.close()
        self._folder.cleanup()

    def _start(self) -> None:
        self._connection, theirs = self._context.Pipe()
        self._process = self._context.Process(target=serve, args=(theirs, self._folder.name), daemon=True)
        self._process.start()
        theirs.close()

    def examine(self, table: Table, messages: list[Message]) -> Tally | Finding:
        found, at = self._ask(table, messages)
        if isinstance(found, Tally):
            return found
        chosen = messages if at is None else [messages[at]]
        return self._smaller(Finding(table, chosen, found))

    def _ask(self, table: Table, messages: list[Message]) -> tuple[Tally | str, int | None]:
        """The finding, and the message it occurred at; None if it was with all at once."""
        at: int | None = 0
        self._connection.send((table, messages))
        try:
            while True:
                if not self._connection.poll(_STUCK_SECONDS):
                    self._process.kill()
                answer = self._connection.recv()
                if isinstance(answer, (Tally, str)):
                    return answer, at
                at = answer
        except EOFError:
            self._process.join()
            code = self._process.exitcode or 0
            self._connection.close()
            self._start()
        return _ENDS.get(code, f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"), at

    def _smaller(self, finding: Finding) -> Finding:
        def shows_it(messages: list[Message]) -> bool:
            found, _ = self._ask(finding.table, messages)
            return isinstance(found, str) and replace(finding, wrong=found).kind == finding.kind

        messages = Shrinking(shows_it, _ATTEMPTS).smallest(finding.messages)
        return replace(finding, messages=messages)
