"""Ticks and rows in Spark's logs and reports. Can be read without loading Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_TICK: Final = 1_000_000_000
"""Generated tables have numbers for offsets too, and smaller ones: seconds since the job began."""
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
