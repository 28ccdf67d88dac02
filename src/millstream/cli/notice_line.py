"""Writes notices to a stream; temporary ones share one line, or appear now and then if lines stay."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Final

from millstream.notices import Passing

if TYPE_CHECKING:
    from typing import TextIO

_SECONDS_BETWEEN_PASSING: Final = 5.0
_CLEAR_LINE: Final = "\r\x1b[2K"


class NoticeLine:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._passing_since: float | None = None
        self._line_is_open = False

    def __call__(self, text: str) -> None:
        if isinstance(text, Passing):
            self._show_passing(text)
            return
        self.close()
        print(text, file=self._stream, flush=True)

    def close(self) -> None:
        """Removes a temporary notice from the screen."""
        if self._line_is_open:
            print(_CLEAR_LINE, end="", file=self._stream, flush=True)
            self._line_is_open = False

    def _show_passing(self, text: Passing) -> None:
        if self._stream.isatty():
            width = shutil.get_terminal_size().columns - 1
            print(f"{_CLEAR_LINE}{text[:width]}", end="", file=self._stream, flush=True)
            self._line_is_open = True
            return
        now = time.monotonic()
        if self._passing_since is None or now - self._passing_since >= _SECONDS_BETWEEN_PASSING:
            self._passing_since = now
            print(text, file=self._stream, flush=True)
