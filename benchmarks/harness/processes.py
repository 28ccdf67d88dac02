"""Core-seconds, memory and bytes written of a benchmark's processes, by role, from /proc."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

BROKER: Final = "broker"
JVM: Final = "JVM"
WORKERS: Final = "Python workers"
DELIVERY: Final = "delivery process"
PYTHON: Final = "Python"
HARNESS: Final = "this benchmark"
ROLES: Final = (JVM, PYTHON, WORKERS, DELIVERY, BROKER)

_PROC: Final = Path("/proc")
_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")
_PARENT: Final = 1
_TICKS: Final = slice(11, 15)
"""Own user and system time, and that of children that have ended."""
_BUSY: Final = (0, 1, 2, 5, 6, 7)
"""Everything except idle time and waiting for disks."""
_SECONDS_BETWEEN_SAMPLES: Final = 0.25


@dataclass(frozen=True, slots=True)
class Usage:
    """By role; core-seconds and written bytes since the processes started, memory now."""

    at: float
    core_seconds: Mapping[str, float]
    memory: Mapping[str, int]
    """Anonymous memory: pages of mapped files, which the system can reclaim, are not counted."""
    written: Mapping[str, int]
    """Bytes of files, as the kernel counts them per process."""
    machine: float
    """Core-seconds of all processes of the machine."""

    def since(self, before: Usage) -> dict[str, float]:
        return {role: seconds - before.core_seconds.get(role, 0) for role, seconds in self.core_seconds.items()}

    def others_since(self, before: Usage) -> float:
        """Core-seconds of processes that do not belong to the benchmark."""
        return self.machine - before.machine - sum(self.since(before).values())


def measure_usage(root: int | None = None) -> Usage:
    """The usage of this process, and of all that descend from it."""
    seconds: defaultdict[str, float] = defaultdict(float)
    memory: defaultdict[str, int] = defaultdict(int)
    written: defaultdict[str, int] = defaultdict(int)
    top = root or os.getpid()
    parents = _parents()
    for process in _descendants(top, parents):
        try:
            role = HARNESS if process == top else role_of((_PROC / str(process) / "cmdline").read_bytes())
            ticks = sum(map(int, _stat(process)[_TICKS]))
            anonymous = _field(process, "status", "RssAnon:")
            files = _field(process, "io", "write_bytes:")
        except OSError:  # it ended meanwhile
            continue
        seconds[role] += ticks / _TICKS_A_SECOND
        memory[role] += anonymous * 1024
        written[role] += files
    return Usage(time.time(), seconds, memory, written, _machine_seconds())


def role_of(command_line: bytes) -> str:
    """What a process does, from its command line with null bytes between the arguments."""
    arguments = command_line.decode(errors="replace").split("\0")
    if any("broker_guard" in argument or argument == "kafka.Kafka" for argument in arguments):
        return BROKER
    if Path(arguments[0]).name == "java":
        return JVM
    if any("daemon" in argument for argument in arguments):
        return WORKERS
    if any("millstream.delivery" in argument for argument in arguments):
        return DELIVERY
    return PYTHON


@dataclass(slots=True)
class Sampler:
    """Samples the usage in a thread until it is left."""

    samples: list[Usage] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.samples.append(measure_usage())
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread:
            self._thread.join()

    def at(self, moment: float) -> Usage:
        """The first sample at or after the moment."""
        return next((sample for sample in self.samples if sample.at >= moment), self.samples[-1])

    def peak_memory(self, until: float) -> int:
        """Of all roles but the broker and this process."""
        return max(sum(_without_harness(sample.memory).values()) for sample in self.samples if sample.at <= until)

    def _run(self) -> None:
        while not self._ended.wait(_SECONDS_BETWEEN_SAMPLES):
            self.samples.append(measure_usage())


def _without_harness(memory: Mapping[str, int]) -> dict[str, int]:
    return {role: size for role, size in memory.items() if role not in {BROKER, HARNESS}}


def _stat(process: int) -> list[str]:
    return (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()


def _field(process: int, file: str, name: str) -> int:
    for line in (_PROC / str(process) / file).read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


def _parents() -> dict[int, int]:
    parents: dict[int, int] = {}
    for folder in _PROC.glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(_stat(int(folder.name))[_PARENT])
        except OSError:  # it ended meanwhile
            continue
    return parents


def _descendants(root: int, parents: Mapping[int, int]) -> set[int]:
    tree = {root}
    while more := {process for process, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return tree


def _machine_seconds() -> float:
    fields = (_PROC / "stat").read_text().splitlines()[0].split()[1:]
    return sum(int(fields[place]) for place in _BUSY) / _TICKS_A_SECOND
