"""The settings of a job as values: each is declared once, read once, and then passed as a field."""

# ruff: noqa: RUF009 - the functions that are called for defaults make fields

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from millstream.catalog import restart_settings as restarts
from millstream.catalog.settings import (
    MAX_BATCH_ROWS,
    MAX_STATE_SIZE,
    PARALLELISM,
    PIPELINE_NAME,
    SPARK,
    STATE_BUCKETS,
    TRIGGER_INTERVAL,
)
from millstream.catalog.settings_of_flink import (
    CDC_EVENTS_DUPLICATE,
    NOT_NULL_ENFORCER,
    RESULT_MODE,
    SOURCE_IDLE_TIMEOUT,
    STATE_TTL,
    UPSERT_MATERIALIZE,
    NotNullEnforcer,
    ResultMode,
    UpsertMaterialize,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta

    from millstream.catalog.options import ConfigOption
    from millstream.catalog.restart_settings import RestartStrategy

T = TypeVar("T")
_OPTION: Final = "option"


def _setting(option: ConfigOption[T]) -> T:
    """A field with the option's default."""
    assert option.default is not None
    return field(default=option.default, metadata={_OPTION: option})


def _optional(option: ConfigOption[T]) -> T | None:
    """A field that is None unless the setting is set."""
    assert option.default is None
    return cast("T | None", field(default=None, metadata={_OPTION: option}))


class _Settings:
    __slots__ = ()

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Self:
        """From the texts of SET and --set, which have been checked."""
        return cls(**cls._values(texts))

    @classmethod
    def _values(cls, texts: Mapping[str, str]) -> dict[str, Any]:
        options = ((each.name, each.metadata[_OPTION]) for each in fields(cast("Any", cls)) if each.metadata)
        return {name: option.parse(texts[option.key]) for name, option in options if option.key in texts}


@dataclass(frozen=True, slots=True)
class RestartSettings(_Settings):
    strategy: RestartStrategy = _setting(restarts.RESTART_STRATEGY)
    initial_backoff: timedelta = _setting(restarts.INITIAL_BACKOFF)
    max_backoff: timedelta = _setting(restarts.MAX_BACKOFF)
    backoff_multiplier: float = _setting(restarts.BACKOFF_MULTIPLIER)
    reset_backoff_threshold: timedelta = _setting(restarts.RESET_BACKOFF_THRESHOLD)
    jitter_factor: float = _setting(restarts.JITTER_FACTOR)
    exponential_attempts: int | None = _optional(restarts.EXPONENTIAL_ATTEMPTS)
    fixed_attempts: int = _setting(restarts.FIXED_ATTEMPTS)
    fixed_delay: timedelta = _setting(restarts.FIXED_DELAY)
    rate_max_failures: int = _setting(restarts.RATE_MAX_FAILURES)
    rate_interval: timedelta = _setting(restarts.RATE_INTERVAL)
    rate_delay: timedelta = _setting(restarts.RATE_DELAY)


@dataclass(frozen=True, slots=True)
class JobSettings(_Settings):
    parallelism: int | None = _optional(PARALLELISM)
    pipeline_name: str | None = _optional(PIPELINE_NAME)
    state_buckets: int | None = _optional(STATE_BUCKETS)
    max_state_size: int | None = _optional(MAX_STATE_SIZE)
    """In bytes."""
    max_batch_rows: int = _setting(MAX_BATCH_ROWS)
    trigger_interval_ms: int = _setting(TRIGGER_INTERVAL)
    result_mode: ResultMode | None = _optional(RESULT_MODE)
    not_null_enforcer: NotNullEnforcer = _setting(NOT_NULL_ENFORCER)
    upsert_materialize: UpsertMaterialize = _setting(UPSERT_MATERIALIZE)
    cdc_events_duplicate: bool = _setting(CDC_EVENTS_DUPLICATE)
    state_ttl: timedelta = _setting(STATE_TTL)
    source_idle_timeout: timedelta = _setting(SOURCE_IDLE_TIMEOUT)
    restarts: RestartSettings = RestartSettings()
    spark: tuple[tuple[str, str], ...] = ()
    """Spark's own settings, by their names, as they are written."""

    @property
    def state_expires(self) -> bool:
        return bool(self.state_ttl)

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Self:
        spark = tuple((key, value) for key, value in texts.items() if key.startswith(SPARK))
        return cls(**cls._values(texts), restarts=RestartSettings.of(texts), spark=spark)
