"""Processes that run one job from a cold start, and are stopped from outside."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

PARALLELISM: Final = 2
HEAP: Final = "4g"
"""Of a JVM that has no default of its own."""
_SECONDS_TO_STOP: Final = 60
_LINES_SHOWN: Final = 30
_FAILED: Final = "[ERROR]"
"""What Flink's SQL client writes about a statement that failed."""


class EngineError(Exception):
    """An engine ended by itself, or its result is wrong."""


@dataclass(frozen=True, slots=True)
class Command:
    arguments: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class EngineRun:
    process: subprocess.Popen[bytes]
    started: float
    """Seconds since the epoch, to compare with the broker's times."""
    log: Path

    def check(self) -> None:
        if self.process.poll() is not None:
            raise EngineError(f"it ended by itself; its last output:\n{self.last_lines()}")

    def await_end(self, seconds: float) -> None:
        """Until it has ended by itself, and without an error."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise EngineError(f"it did not end in {seconds:.0f} s\n{self.last_lines()}") from None
        if code or _FAILED in self.log.read_text(errors="replace"):
            raise EngineError(f"it failed; its last output:\n{self.last_lines()}")

    def last_lines(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-_LINES_SHOWN:])


@contextmanager
def start_engine(command: Command, folder: Path) -> Iterator[EngineRun]:
    """Runs a command in a folder, with its output in engine.log."""
    log = folder / "engine.log"
    started = time.time()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command.arguments,
            cwd=folder,
            env={**os.environ, **command.environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        yield EngineRun(process, started, log)
    finally:
        process.terminate()
        try:
            process.wait(_SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
