"""The kinds of windows, and which of them a time belongs to. Times are milliseconds; a window ends before its end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    Times = TypeVar("Times", int, NDArray[Any])

_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000))


class WindowKind(StrEnum):
    TUMBLE = "TUMBLE"
    HOP = "HOP"
    CUMULATE = "CUMULATE"


@dataclass(frozen=True, slots=True)
class Windows:
    """The length of the longest windows, and the time between the starts (HOP) or the ends (CUMULATE) of two.

    Tumbling windows begin where the one before ends: their step is their size.
    """

    kind: WindowKind
    size: int
    step: int
    offset: int = 0

    @property
    def most(self) -> int:
        """How many windows a time may belong to."""
        return -(-self.size // self.step)

    def of(self, times: NDArray[Any]) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """The starts and ends of one window of each time after the other, and which times have that one."""
        if self.kind is WindowKind.CUMULATE:
            start = self._floor(times, self.size)
            first = start + (times - start) // self.step * self.step + self.step
            for number in range(self.most):
                end = first + number * self.step
                yield start, end, end <= start + self.size
            return
        latest = self._floor(times, self.step)
        for number in range(self.most):
            start = latest - number * self.step
            yield start, start + self.size, times < start + self.size

    def _floor(self, times: Times, step: int) -> Times:
        return (times - self.offset) // step * step + self.offset

    def __str__(self) -> str:
        step = f", {duration(self.step)}" if self.size != self.step else ""
        offset = f", offset {duration(self.offset)}" if self.offset else ""
        return f"{self.kind}({duration(self.size)}{step}{offset})"


def duration(milliseconds: int) -> str:
    """As EXPLAIN and checkpoints show it: `10 min`."""
    for unit, length in _UNITS:
        if milliseconds % length == 0:
            return f"{milliseconds // length} {unit}"
    return f"{milliseconds} ms"
