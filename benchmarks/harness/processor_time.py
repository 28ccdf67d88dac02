"""CPU time of a benchmark's own processes and of all others, which distort its figures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple, Self

_TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")
_PARENT: Final = 1
_TICKS: Final = slice(11, 15)
"""Own user and system time, and that of children that have ended."""
_BUSY: Final = (0, 1, 2, 5, 6, 7)
"""Everything except idle time and waiting for disks."""


class ProcessorTime(NamedTuple):
    """Core-seconds."""

    ours: float
    others: float

    @classmethod
    def now(cls) -> Self:
        machine = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
        ours = _seconds_of_tree(os.getpid())
        return cls(ours, sum(int(machine[place]) for place in _BUSY) / _TICKS_A_SECOND - ours)

    def since(self, before: ProcessorTime) -> ProcessorTime:
        return ProcessorTime(self.ours - before.ours, self.others - before.others)


def _seconds_of_tree(root: int) -> float:
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        process = int(stat.parent.name)
        parents[process] = int(fields[_PARENT])
        ticks[process] = sum(map(int, fields[_TICKS]))
    tree = {root}
    while more := {process for process, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return sum(ticks[process] for process in tree) / _TICKS_A_SECOND
