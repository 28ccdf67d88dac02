"""From where to where a table's topics are read, once Kafka has been asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

Offsets: TypeAlias = Mapping[tuple[str, int], int]
"""By topic and partition."""


class Tally(Protocol):
    """A number that many processes add to."""

    @property
    def value(self) -> int: ...

    def add(self, term: int) -> None: ...


@dataclass(frozen=True, slots=True)
class MessageCounters:
    """Messages of a job that no row was made of, since it started."""

    skipped: Tally
    """Passed over, because their format ignores parse errors."""
    dead_letters: Tally
    """Written to a topic of dead letters."""


@dataclass(frozen=True, slots=True)
class ReadRange:
    start: str
    """Where a new job starts, in Spark's words: `earliest`, or JSON of offsets. A restarted one goes on by itself."""
    ends: Offsets | None = None
    """What a bounded scan reads up to, without these offsets; partitions that are not named are not read."""
    counters: MessageCounters | None = field(default=None, compare=False)
