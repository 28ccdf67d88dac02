"""From where to where a table's topics are read, once Kafka has been asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

Offsets: TypeAlias = Mapping[tuple[str, int], int]
"""By topic and partition."""


class Tally(Protocol):
    """A number that many processes add to."""

    def add(self, term: int) -> None: ...


@dataclass(frozen=True, slots=True)
class ReadRange:
    start: str
    """Where a new job starts, in Spark's words: `earliest`, or JSON of offsets. A restarted one goes on by itself."""
    ends: Offsets | None = None
    """What a bounded scan reads up to, without these offsets; partitions that are not named are not read."""
    skipped: Tally | None = field(default=None, compare=False)
    """Told of each message that is passed over because its format ignores parse errors."""
