"""Events of a running job other than its batches: it waits, it continues, messages were lost."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class JobWaits:
    """The job waits for something that is unavailable. Nothing is lost, and it continues by itself."""

    job: str
    why: str
    since: float
    """When it began to wait, in seconds since the epoch."""
    attempt: int = 0
    """How often the job has been restarted since its last batch."""
    retry_seconds: float | None = None
    """Seconds until the next restart; None while the clients of the running query keep trying."""

    @property
    def text(self) -> str:
        then = "" if self.retry_seconds is None else f"; attempt {self.attempt} in {self.retry_seconds:.1f} s"
        return f'job "{self.job}" has been waiting since {_clock(self.since)}: {self.why}{then}'

    def as_json(self) -> dict[str, Any]:
        return {"event": "waiting", **asdict(self)}


@dataclass(frozen=True, slots=True)
class JobGoesOn:
    """The job has finished a batch again, or Kafka responds again."""

    job: str
    waited_seconds: float
    attempt: int = 0

    @property
    def text(self) -> str:
        return f'job "{self.job}" resumed after {self.waited_seconds:.1f} s'

    def as_json(self) -> dict[str, Any]:
        return {"event": "going-on", **asdict(self)}


@dataclass(frozen=True, slots=True)
class MessagesLost:
    """Messages were deleted before the job had read them, and 'scan.fail-on-data-loss' is false."""

    job: str
    topic: str
    partition: int
    first_offset: int
    end_offset: int
    """The first offset that still exists."""

    @property
    def count(self) -> int:
        return self.end_offset - self.first_offset

    @property
    def text(self) -> str:
        return (
            f'job "{self.job}" lost {self.count} offsets of {self.topic}-{self.partition}, '
            f"{self.first_offset} to {self.end_offset - 1}: they were deleted before it read them"
        )

    def as_json(self) -> dict[str, Any]:
        return {"event": "lost", **asdict(self), "count": self.count}


JobEvent: TypeAlias = JobWaits | JobGoesOn | MessagesLost


def _clock(moment: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(moment))
