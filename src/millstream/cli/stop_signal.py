"""How the user stops what runs in the foreground."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class StopSignal:
    """Ctrl-C and SIGTERM: before `listen` they abort the preparation, after it they ask jobs to stop.

    The second signal stops jobs in the middle of their batch.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        for number in _SIGNALS:
            signal.signal(number, signal.default_int_handler)

    def listen(self) -> None:
        for number in _SIGNALS:
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.is_set:
            signal.default_int_handler(number, frame)
        self.set()

    def set(self) -> None:
        self._event.set()

    def wait(self, seconds: float) -> bool:
        return self._event.wait(seconds)

    @property
    def is_set(self) -> bool:
        return self._event.is_set()
