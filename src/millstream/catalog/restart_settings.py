"""Flink's settings of restarts, with its defaults: whether and when a job restarts after a transient failure."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from millstream.catalog.durations import duration
from millstream.catalog.options import ConfigOption, OptionType, at_least

if TYPE_CHECKING:
    from collections.abc import Callable


class RestartStrategy(StrEnum):
    EXPONENTIAL_DELAY = "exponential-delay"
    FIXED_DELAY = "fixed-delay"
    FAILURE_RATE = "failure-rate"
    NONE = "none"


_MEANINGS: Final = {
    RestartStrategy.EXPONENTIAL_DELAY: "without limit, after longer and longer delays",
    RestartStrategy.FIXED_DELAY: "a fixed number of times, each after the same delay",
    RestartStrategy.FAILURE_RATE: "unless it fails too often within an interval",
    RestartStrategy.NONE: "never; also written off and disable",
}
_SPELLINGS: Final = {
    **{name.value: name for name in RestartStrategy},
    "off": RestartStrategy.NONE,
    "disable": RestartStrategy.NONE,
    **{name.value.replace("-", ""): name for name in RestartStrategy},
}


def _strategy(value: str) -> RestartStrategy:
    found = _SPELLINGS.get(value.strip().lower())
    if found is None:
        raise ValueError(f'"{value}" is not one of {", ".join(RestartStrategy)}')
    return found


def _fraction(allows: Callable[[float], bool], range_: str) -> OptionType[float]:
    def parse(value: str) -> float:
        try:
            number = float(value)
        except ValueError:
            raise ValueError(f'"{value}" is not a number') from None
        if not allows(number):
            raise ValueError(f"{value.strip()} is not {range_}")
        return number

    return OptionType("DOUBLE", parse)


def _positive_duration(value: str) -> timedelta:
    length = duration.parse(value)
    if not length:
        raise ValueError("it must be longer than 0")
    return length


_POSITIVE_DURATION: Final = OptionType("DURATION", _positive_duration)

RESTART_STRATEGY: Final = ConfigOption(
    "restart-strategy.type",
    OptionType("ENUM", _strategy, tuple((name.value, meaning) for name, meaning in _MEANINGS.items())),
    "Whether a job starts again after a transient failure, such as a broker that went away.",
    RestartStrategy.EXPONENTIAL_DELAY,
)
INITIAL_BACKOFF: Final = ConfigOption(
    "restart-strategy.exponential-delay.initial-backoff",
    _POSITIVE_DURATION,
    "The wait before the first restart.",
    timedelta(seconds=1),
)
MAX_BACKOFF: Final = ConfigOption(
    "restart-strategy.exponential-delay.max-backoff",
    _POSITIVE_DURATION,
    "The longest wait before a restart.",
    timedelta(minutes=1),
)
BACKOFF_MULTIPLIER: Final = ConfigOption(
    "restart-strategy.exponential-delay.backoff-multiplier",
    _fraction(lambda number: 1 <= number < float("inf"), "a number of at least 1"),
    "How many times longer each wait is than the one before.",
    1.5,
)
RESET_BACKOFF_THRESHOLD: Final = ConfigOption(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    _POSITIVE_DURATION,
    "How long a job must run for the next fault to count as its first.",
    timedelta(hours=1),
)
JITTER_FACTOR: Final = ConfigOption(
    "restart-strategy.exponential-delay.jitter-factor",
    _fraction(lambda number: 0 <= number <= 1, "a number from 0 to 1"),
    "The fraction by which each wait is lengthened or shortened at random, so that jobs do not restart together.",
    0.1,
)
EXPONENTIAL_ATTEMPTS: Final = ConfigOption(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    at_least(0),
    "After how many restarts in a row the job fails; unlimited unless set.",
    example="20",
)
FIXED_ATTEMPTS: Final = ConfigOption(
    "restart-strategy.fixed-delay.attempts", at_least(0), "After how many restarts the job fails.", 1
)
FIXED_DELAY: Final = ConfigOption(
    "restart-strategy.fixed-delay.delay", duration, "The wait before a restart.", timedelta(seconds=1)
)
RATE_MAX_FAILURES: Final = ConfigOption(
    "restart-strategy.failure-rate.max-failures-per-interval",
    at_least(1),
    "The most restarts within the interval; the next fault fails the job.",
    1,
)
RATE_INTERVAL: Final = ConfigOption(
    "restart-strategy.failure-rate.failure-rate-interval",
    _POSITIVE_DURATION,
    "The interval in which restarts are counted.",
    timedelta(minutes=1),
)
RATE_DELAY: Final = ConfigOption(
    "restart-strategy.failure-rate.delay", duration, "The wait before a restart.", timedelta(seconds=1)
)

RESTARTS: Final[tuple[ConfigOption[Any], ...]] = (
    RESTART_STRATEGY,
    INITIAL_BACKOFF,
    MAX_BACKOFF,
    BACKOFF_MULTIPLIER,
    RESET_BACKOFF_THRESHOLD,
    JITTER_FACTOR,
    EXPONENTIAL_ATTEMPTS,
    FIXED_ATTEMPTS,
    FIXED_DELAY,
    RATE_MAX_FAILURES,
    RATE_INTERVAL,
    RATE_DELAY,
)
