"""When a job that met a passing fault starts again: Flink's four strategies."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol, TypeVar

from millstream.catalog.restart_settings import (
    BACKOFF_MULTIPLIER,
    EXPONENTIAL_ATTEMPTS,
    FIXED_ATTEMPTS,
    FIXED_DELAY,
    INITIAL_BACKOFF,
    JITTER_FACTOR,
    MAX_BACKOFF,
    RATE_DELAY,
    RATE_INTERVAL,
    RATE_MAX_FAILURES,
    RESET_BACKOFF_THRESHOLD,
    RESTART_STRATEGY,
    RestartStrategy,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from millstream.catalog.options import ConfigOption

T = TypeVar("T")


class Restarts(Protocol):
    """Told of each fault; knows how many there were."""

    def delay_after_fault(self, now: float) -> float | None:
        """How many seconds to wait before the next start; None when it was one fault too many."""


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
    """Seconds of running well after which the next fault is the first again."""
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


def restarts_of(settings: Mapping[str, str]) -> Restarts:
    """As the settings say; all of them have been checked before."""

    def value(option: ConfigOption[T]) -> T:
        found = _value(settings, option)
        assert found is not None
        return found

    def seconds(option: ConfigOption[timedelta]) -> float:
        return value(option) / timedelta(seconds=1)

    match value(RESTART_STRATEGY):
        case RestartStrategy.NONE:
            return NoRestarts()
        case RestartStrategy.FIXED_DELAY:
            return FixedDelay(value(FIXED_ATTEMPTS), seconds(FIXED_DELAY))
        case RestartStrategy.FAILURE_RATE:
            return FailureRate(value(RATE_MAX_FAILURES), seconds(RATE_INTERVAL), seconds(RATE_DELAY))
        case RestartStrategy.EXPONENTIAL_DELAY:
            return ExponentialDelay(
                initial=seconds(INITIAL_BACKOFF),
                longest=seconds(MAX_BACKOFF),
                multiplier=value(BACKOFF_MULTIPLIER),
                reset_after=seconds(RESET_BACKOFF_THRESHOLD),
                jitter=value(JITTER_FACTOR),
                attempts=_value(settings, EXPONENTIAL_ATTEMPTS),
            )


def _value(settings: Mapping[str, str], option: ConfigOption[T]) -> T | None:
    written = settings.get(option.key)
    return option.default if written is None else option.parse(written)
