"""How much more a job may hold after many batches than after its first hundred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.endurance.measures import Sample


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The greater of both applies."""

    more: int
    share: float = 0.0

    def allows(self, before: int, after: int) -> bool:
        return after <= before + max(self.more, before * self.share)


TOLERANCES: Final = {
    "processes": Tolerance(2),
    "open files": Tolerance(16),
    "threads": Tolerance(8),
    "memory, MB": Tolerance(64, 0.2),
    "live heap, MB": Tolerance(16, 0.1),
    "connections to Kafka": Tolerance(4),
    "files": Tolerance(100),
    "KB": Tolerance(1024, 0.5),
}
"""By measure, whichever process it belongs to."""


@dataclass(frozen=True, slots=True)
class Trend:
    """The values of one measure, from the warm-up to the end."""

    measure: str
    values: tuple[int, ...]

    @property
    def is_flat(self) -> bool:
        return TOLERANCES[self.measure.partition(": ")[2]].allows(self.values[0], self.values[-1])

    def __str__(self) -> str:
        return f"{self.measure} {' -> '.join(f'{value:,}' for value in self.values)}"


def trends(samples: Sequence[Sample]) -> list[Trend]:
    """A measure that did not exist at a time is 0."""
    names = dict.fromkeys(name for each in samples for name in each)
    return [Trend(name, tuple(each.get(name, 0) for each in samples)) for name in names]
