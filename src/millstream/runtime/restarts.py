"""When to restart a job after a transient failure: Flink's four strategies."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from millstream.catalog.restart_settings import RestartStrategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.catalog.job_settings import RestartSettings


class Restarts(Protocol):
    """Counts transient failures, and decides whether to restart."""

    def delay_after_fault(self, now: float) -> float | None:
        """Seconds to wait before the next start; None if there were too many failures."""


@dataclass(slots=True)
class NoRestarts:
    def delay_after_fault(self, now: float) -> float | None:  # noqa: ARG002
        return None


@dataclass(slots=True)
class FixedDelay:
    attempts: int
    delay: float
    _faults: int = 0

    def delay_after_fault(self, now: float) -> float | None:  # noqa: ARG002
        self._faults += 1
        return self.delay if self._faults <= self.attempts else None


@dataclass(slots=True)
class FailureRate:
    most: int
    interval: float
    delay: float
    _faults: deque[float] = field(default_factory=deque)

    def delay_after_fault(self, now: float) -> float | None:
        while self._faults and now - self._faults[0] > self.interval:
            self._faults.popleft()
        self._faults.append(now)
        return self.delay if len(self._faults) <= self.most else None


@dataclass(slots=True)
class ExponentialDelay:
    initial: float
    longest: float
    multiplier: float
    reset_after: float
    """Seconds without a failure after which the count starts again."""
    jitter: float
    attempts: int | None = None
    random_share: Callable[[], float] = random.random
    _faults: int = 0
    _backoff: float = 0.0
    _started_at: float = 0.0

    def delay_after_fault(self, now: float) -> float | None:
        if now - self._started_at >= self.reset_after:
            self._faults = 0
        self._faults += 1
        if self.attempts is not None and self._faults > self.attempts:
            return None
        grown = self.initial if self._faults == 1 else self._backoff * self.multiplier
        self._backoff = min(grown, self.longest)
        delay = min(self.longest, self._backoff * (1 + self.jitter * (2 * self.random_share() - 1)))
        self._started_at = now + delay
        return delay


def restarts_of(settings: RestartSettings) -> Restarts:
    match settings.strategy:
        case RestartStrategy.NONE:
            return NoRestarts()
        case RestartStrategy.FIXED_DELAY:
            return FixedDelay(settings.fixed_attempts, settings.fixed_delay.total_seconds())
        case RestartStrategy.FAILURE_RATE:
            return FailureRate(
                settings.rate_max_failures, settings.rate_interval.total_seconds(), settings.rate_delay.total_seconds()
            )
        case RestartStrategy.EXPONENTIAL_DELAY:
            return ExponentialDelay(
                initial=settings.initial_backoff.total_seconds(),
                longest=settings.max_backoff.total_seconds(),
                multiplier=settings.backoff_multiplier,
                reset_after=settings.reset_backoff_threshold.total_seconds(),
                jitter=settings.jitter_factor,
                attempts=settings.exponential_attempts,
            )
