"""The range of a table's topics to read, once Kafka has been asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

Offsets: TypeAlias = Mapping[tuple[str, int], int]
"""By topic and partition."""


class Tally(Protocol):
    """A counter that many processes add to."""

    @property
    def value(self) -> int: ...

    def add(self, term: int) -> None: ...


@dataclass(frozen=True, slots=True)
class MessageCounters:
    """Messages since the start of a job."""

    read: Tally
    """Read by workers of ours."""
    skipped: Tally
    """Of these, skipped because their format ignores parse errors."""
    dead_letters: Tally
    """Of these, written to a dead-letter topic."""


@dataclass(frozen=True, slots=True)
class ReadRange:
    start: str
    """Where a new job starts, in Spark's form: `earliest`, or JSON of offsets. A restarted job resumes by itself."""
    ends: Offsets | None = None
    """Where a bounded scan ends, exclusively; partitions that are not listed are not read."""
    counters: MessageCounters | None = field(default=None, compare=False)
