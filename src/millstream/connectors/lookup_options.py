"""Flink's options of tables that rows are looked up in. Their rows are in memory here, whatever the cache."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from millstream.catalog.durations import duration
from millstream.catalog.options import ConfigOption, OptionType, Role, at_least, boolean, one_of

if TYPE_CHECKING:
    from millstream.catalog.option_reader import OptionReader


class LookupCache(StrEnum):
    NONE = "NONE"
    PARTIAL = "PARTIAL"
    FULL = "FULL"


class ReloadStrategy(StrEnum):
    PERIODIC = "PERIODIC"
    TIMED = "TIMED"


class ScheduleMode(StrEnum):
    FIXED_DELAY = "FIXED_DELAY"
    FIXED_RATE = "FIXED_RATE"


def _time_of_day(value: str) -> time:
    try:
        return time.fromisoformat(value.strip())
    except ValueError:
        raise ValueError(f'"{value}" is not a time of day such as 10:15, 10:15:30 or 10:15+07:00') from None


def _positive_duration(value: str) -> timedelta:
    length = duration(value)
    if not length:
        raise ValueError("it must be longer than 0")
    return length


CACHE: Final = ConfigOption(
    "lookup.cache",
    one_of(LookupCache),
    "What rows are looked up in: with FULL, the full-cache options say when it is read again. NONE and PARTIAL are "
    "accepted.",
    role=Role.SOURCE,
)
MAX_RETRIES: Final = ConfigOption(
    "lookup.max-retries", at_least(0), "How often reading is tried again when it fails.", 3, Role.SOURCE
)
EXPIRE_AFTER_ACCESS: Final = ConfigOption(
    "lookup.partial-cache.expire-after-access", duration, "How long a row is kept unread.", role=Role.SOURCE
)
EXPIRE_AFTER_WRITE: Final = ConfigOption(
    "lookup.partial-cache.expire-after-write", duration, "How long a row is kept.", role=Role.SOURCE
)
CACHE_MISSING_KEY: Final = ConfigOption(
    "lookup.partial-cache.cache-missing-key", boolean, "Whether it is kept that a key has no row.", True, Role.SOURCE
)
MAX_ROWS: Final = ConfigOption(
    "lookup.partial-cache.max-rows", at_least(1), "How many rows are kept.", role=Role.SOURCE
)
STRATEGY: Final = ConfigOption(
    "lookup.full-cache.reload-strategy",
    one_of(ReloadStrategy),
    "When all rows are read again: PERIODIC, at an interval, or TIMED, at a time of day.",
    ReloadStrategy.PERIODIC,
    Role.SOURCE,
)
RELOAD_INTERVAL: Final = ConfigOption(
    "lookup.full-cache.periodic-reload.interval",
    OptionType("DURATION", _positive_duration),
    "How long after reading all rows they are read again, with PERIODIC; without it they are read once.",
    role=Role.SOURCE,
)
SCHEDULE_MODE: Final = ConfigOption(
    "lookup.full-cache.periodic-reload.schedule-mode",
    one_of(ScheduleMode),
    "Whether the interval begins when reading ends (FIXED_DELAY) or when it begins (FIXED_RATE).",
    ScheduleMode.FIXED_DELAY,
    Role.SOURCE,
)
RELOAD_TIME: Final = ConfigOption(
    "lookup.full-cache.timed-reload.iso-time",
    OptionType("STRING", _time_of_day),
    "The time of day with TIMED, e.g. 10:15 where the job runs, or 10:15Z.",
    role=Role.SOURCE,
    needed="with TIMED",
)
RELOAD_DAYS: Final = ConfigOption(
    "lookup.full-cache.timed-reload.interval-in-days", at_least(1), "The days between, with TIMED.", 1, Role.SOURCE
)
PARTIAL_OPTIONS: Final[tuple[ConfigOption[Any], ...]] = (
    EXPIRE_AFTER_ACCESS,
    EXPIRE_AFTER_WRITE,
    CACHE_MISSING_KEY,
    MAX_ROWS,
)
FULL_OPTIONS: Final[tuple[ConfigOption[Any], ...]] = (
    STRATEGY,
    RELOAD_INTERVAL,
    SCHEDULE_MODE,
    RELOAD_TIME,
    RELOAD_DAYS,
)
LOOKUP_OPTIONS: Final[tuple[ConfigOption[Any], ...]] = (CACHE, MAX_RETRIES, *PARTIAL_OPTIONS, *FULL_OPTIONS)

IN_MEMORY: Final = "all rows of the table are in memory"


@dataclass(frozen=True, slots=True)
class Reload:
    """When all rows are read again."""

    every: timedelta
    at: time | None = None
    """A time of day, where they are read every so many days; without a zone, that of the machine."""
    keeps_rate: bool = False

    def first(self, now: datetime) -> datetime:
        """`now`, with its zone, is when they have been read for the first time."""
        if self.at is None:
            return now + self.every
        today = now.astimezone(self.at.tzinfo)
        planned = datetime.combine(today.date(), self.at, today.tzinfo)
        return planned if planned > now else planned + timedelta(days=1)

    def following(self, planned: datetime, ended: datetime) -> datetime:
        """The time after one that was planned, when reading has ended; what was missed is left out."""
        if self.at is None and not self.keeps_rate:
            return ended + self.every
        missed = max((ended - planned) // self.every, 0)
        return planned + (missed + 1) * self.every


@dataclass(frozen=True, slots=True)
class LookupSettings:
    """How a table is read that is not followed as it changes."""

    reload: Reload | None = None
    retries: int = 3


def read_lookup_settings(reader: OptionReader) -> LookupSettings:
    reader.read(LOOKUP_OPTIONS)
    for option in PARTIAL_OPTIONS:
        reader.without_effect(option.key, IN_MEMORY)
    cache = reader.get(CACHE)
    if cache in (LookupCache.NONE, LookupCache.PARTIAL):
        reader.without_effect(CACHE.key, f"{IN_MEMORY}, and are read again with '{LookupCache.FULL}' only")
    if cache is not LookupCache.FULL:
        for option in FULL_OPTIONS:
            reader.without_effect(option.key, f"it goes with '{CACHE.key}' = '{LookupCache.FULL}'")
        return LookupSettings(None, reader.get(MAX_RETRIES) or 0)
    return LookupSettings(_reload(reader), reader.get(MAX_RETRIES) or 0)


def _reload(reader: OptionReader) -> Reload | None:
    strategy = reader.get(STRATEGY)
    is_timed = strategy is ReloadStrategy.TIMED
    unused: tuple[ConfigOption[Any], ...] = (RELOAD_TIME, RELOAD_DAYS)
    for option in (RELOAD_INTERVAL, SCHEDULE_MODE) if is_timed else unused:
        reader.without_effect(option.key, f"the strategy is '{strategy}'")
    if not is_timed:
        interval = reader.get(RELOAD_INTERVAL)
        keeps_rate = reader.get(SCHEDULE_MODE) is ScheduleMode.FIXED_RATE
        return None if interval is None else Reload(interval, keeps_rate=keeps_rate)
    at = reader.get(RELOAD_TIME)
    if not reader.has(RELOAD_TIME.key):
        reader.problems.append(reader.missing(RELOAD_TIME, f"'{STRATEGY.key}' is '{ReloadStrategy.TIMED}'."))
    days = reader.get(RELOAD_DAYS) or 1
    return None if at is None else Reload(timedelta(days=days), at)
