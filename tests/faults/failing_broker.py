"""A broker that can be stopped, killed or paused, and comes back at the same address with its messages."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from millstream.testing.broker import EmbeddedBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

PARTITIONS = 2
_LOOK_SECONDS = 0.05


class FailingBroker:
    def __init__(self, data: Path) -> None:
        self._data = data
        self._broker = EmbeddedBroker(data=data, partitions=PARTITIONS)

    @property
    def bootstrap(self) -> str:
        return self._broker.bootstrap

    def start(self) -> None:
        self._broker.start()

    def start_again(self) -> None:
        self._broker = EmbeddedBroker(port=self._broker.address[1], data=self._data, partitions=PARTITIONS).start()

    def stop(self) -> None:
        self._broker.stop()

    def kill(self) -> None:
        os.kill(self._java, signal.SIGKILL)
        self._broker.stop()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Accepts connections but does not respond."""
        java = self._java
        os.kill(java, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(java, signal.SIGCONT)

    def await_log(self, words: str) -> None:
        log = self._data / "logs" / "broker.log"
        while words not in log.read_text():
            time.sleep(_LOOK_SECONDS)

    @property
    def _java(self) -> int:
        assert self._broker._guard is not None
        listed = subprocess.run(["pgrep", "-P", str(self._broker._guard.pid)], capture_output=True, check=True)
        return int(listed.stdout)

    def __enter__(self) -> Self:
        self._broker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._broker.stop()
