"""The numbers of ticks in Spark's logs and reports. Can be read without loading Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_TICK: Final = 1_000_000_000
"""Generated tables have numbers for offsets too, and smaller ones: seconds since the job began."""
_DESCRIPTION: Final = "MemoryStream["


@dataclass(frozen=True, slots=True)
class TickRequest:
    """Where the ticks of a job continue, and how often they come."""

    finished: int | None = None
    """The number of the last tick in a finished batch."""
    begun: int | None = None
    """The number of the last tick in any batch."""
    interval_seconds: float | None = None
    """None if nothing waits for them."""


def rows_read(report: Mapping[str, Any]) -> int:
    """How many rows a batch has read from tables."""
    ticks = sum(int(source["numInputRows"]) for source in report["sources"] if _is_ticks(source))
    return int(report["numInputRows"]) - ticks


def _is_ticks(source: Mapping[str, Any]) -> bool:
    return str(source.get("description")).startswith(_DESCRIPTION)
