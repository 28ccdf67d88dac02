"""What to read of a table's topics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from millstream.connectors.kafka.read_range import Offsets


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """It is sent to the workers, and to the process that plans batches."""

    topics: tuple[str, ...]
    pattern: str | None
    """A regular expression of Python's for whole names; then `topics` is empty."""
    properties: Mapping[str, str] = field(repr=False)
    folder: Path
    """The job's own, which survives restarts."""
    scan: str
    """The id of the scan in its plan."""
    starts: Offsets | None
    """Where a new job starts; None for the first offsets that exist."""
    ends: Offsets | None
    """Where a bounded scan ends; partitions that are not listed are not read."""
    most: int
    """Messages per batch."""
    columns: tuple[str, ...]
    """Of messages, by the names that the consumer gives them."""
    may_lose: bool
    """Whether to continue without messages that are gone."""
    reads_committed: bool
    keeps_apart: bool
    """Whether each partition has a task of its own, which writes under its name."""
    tells_partitions: bool = False
    """Whether each batch of messages comes from one partition, and workers are told which partitions there are."""
    reads_nothing: bool = False
    """Whether the stream stays where it is, but for a batch that has begun."""
    tasks: int | None = None
    """Over how many tasks many messages are spread; None if it must not depend on how many there are."""
