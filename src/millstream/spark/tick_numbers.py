"""Ticks and rows in Spark's logs and reports. Can be read without loading Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_TICK: Final = 1_000_000_000
"""Generated tables have numbers for offsets too, and smaller ones: seconds since the job began."""
END_TICK: Final = 2_000_000_000
"""The tick that says that event time has ended, as no row comes any more."""
_DESCRIPTION: Final = "MemoryStream["
_OWN_STREAM: Final = "PythonMicroBatchStream"


@dataclass(frozen=True, slots=True)
class TickRequest:
    """Where the ticks of a job continue, and how often they come."""

    finished: int | None = None
    """The number of the last tick in a finished batch."""
    begun: int | None = None
    """The number of the last tick in any batch."""
    interval_seconds: float | None = None
    """None if nothing waits for them."""

    @property
    def is_ending(self) -> bool:
        """Whether event time has ended, or a batch has begun in which it does."""
        return ends_time(self.begun)

    @property
    def has_ended(self) -> bool:
        return ends_time(self.finished)


def ends_time(tick: int | None) -> bool:
    return tick is not None and tick >= END_TICK


def rows_read(report: Mapping[str, Any], messages: int = 0) -> int:
    """How many rows a batch has read from tables; `messages` is how many of them workers of ours have read."""
    return messages + sum(
        int(source["numInputRows"])
        for source in report["sources"]
        if not is_read_in_python(source) and not _is_ticks(source)
    )


def is_read_in_python(source: Mapping[str, Any]) -> bool:
    """Whether Spark counts what workers have made of messages instead of the messages."""
    return _OWN_STREAM in str(source.get("description"))


def _is_ticks(source: Mapping[str, Any]) -> bool:
    return str(source.get("description")).startswith(_DESCRIPTION)
