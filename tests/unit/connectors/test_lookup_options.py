"""What the tables that rows are looked up in understand of Flink's cache options, and when files are read again."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, timezone

import pytest

from millstream.connectors.local.tables import FilesystemSource
from millstream.connectors.lookup_options import LookupSettings, Reload
from millstream.connectors.registry import resolve_source
from millstream.errors import Code, ScriptError
from tests.declaring import declare_table

FILES = {"connector": "filesystem", "path": "/tmp/x", "format": "csv"}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def files(**options: str) -> FilesystemSource:
    """Keywords with `__` for `.` and `_` for `-`."""
    named = {f"lookup.{key.replace('__', '.').replace('_', '-')}": value for key, value in options.items()}
    source = resolve_source(declare_table("id INT", FILES | named))
    assert isinstance(source, FilesystemSource)
    return source


@pytest.mark.parametrize(
    ("options", "reload"),
    [
        ({}, None),
        ({"cache": "FULL"}, None),
        ({"cache": "full", "full_cache__periodic_reload__interval": "1 min"}, Reload(MINUTE)),
        (
            {
                "cache": "FULL",
                "full_cache__reload_strategy": "PERIODIC",
                "full_cache__periodic_reload__interval": "60 s",
                "full_cache__periodic_reload__schedule_mode": "FIXED_RATE",
            },
            Reload(MINUTE, keeps_rate=True),
        ),
        (
            {
                "cache": "FULL",
                "full_cache__reload_strategy": "TIMED",
                "full_cache__timed_reload__iso_time": "10:15+07:00",
                "full_cache__timed_reload__interval_in_days": "2",
            },
            Reload(timedelta(days=2), time(10, 15, tzinfo=timezone(timedelta(hours=7)))),
        ),
    ],
)
def test_when_files_are_read_again(options: dict[str, str], reload: Reload | None) -> None:
    source = files(**options)
    assert source.lookup == LookupSettings(reload)
    assert not source.notices


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cache": "NONE"}, ["'lookup.cache'"]),
        ({"cache": "PARTIAL", "partial_cache__max_rows": "5"}, ["partial-cache.max-rows", "'lookup.cache'"]),
        ({"full_cache__periodic_reload__interval": "1 min"}, ["goes with 'lookup.cache' = 'FULL'"]),
        ({"cache": "FULL", "full_cache__timed_reload__iso_time": "10:15"}, ["the strategy is 'PERIODIC'"]),
    ],
)
def test_what_has_no_effect_is_said(options: dict[str, str], said: list[str]) -> None:
    notices = [notice.text for notice in files(**options).notices]
    assert [part in notice for part, notice in zip(said, notices, strict=True)] == [True] * len(said)


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({"cache": "SOME"}, [Code.INVALID_OPTION_VALUE]),
        ({"cache": "FULL", "full_cache__periodic_reload__interval": "0 s"}, [Code.INVALID_OPTION_VALUE]),
        ({"cache": "FULL", "full_cache__reload_strategy": "TIMED"}, [Code.MISSING_OPTION]),
        (
            {
                "cache": "FULL",
                "full_cache__reload_strategy": "TIMED",
                "full_cache__timed_reload__iso_time": "noon",
            },
            [Code.INVALID_OPTION_VALUE],
        ),
        ({"max_retries": "-1", "partial_cache__max_rows": "many"}, [Code.INVALID_OPTION_VALUE] * 2),
    ],
)
def test_wrong_values_are_refused(options: dict[str, str], codes: list[Code]) -> None:
    with pytest.raises(ScriptError) as caught:
        files(**options)
    assert [problem.code for problem in caught.value.diagnostics] == codes


def test_a_topic_is_always_up_to_date() -> None:
    kafka = {"topic": "t", "properties.bootstrap.servers": "x:9092", "key.format": "json", "value.format": "json"}
    options = {"connector": "upsert-kafka", **kafka, "lookup.cache": "FULL", "lookup.max-retries": "2"}
    source = resolve_source(declare_table("id INT, PRIMARY KEY (id) NOT ENFORCED", options))
    assert sorted("as new as the topic" in notice.text for notice in source.notices) == [True, True]


@pytest.mark.parametrize(
    ("reload", "first", "second"),
    [
        (Reload(MINUTE), NOON + MINUTE, NOON + 2.5 * MINUTE),
        (Reload(MINUTE, keeps_rate=True), NOON + MINUTE, NOON + 2 * MINUTE),
        (Reload(MINUTE / 4, keeps_rate=True), NOON + MINUTE / 4, NOON + MINUTE),
        (Reload(timedelta(days=2), time(12, 1, tzinfo=UTC)), NOON + MINUTE, NOON + MINUTE + timedelta(days=2)),
        (
            Reload(timedelta(days=1), time(12, tzinfo=UTC)),
            NOON + timedelta(days=1),
            NOON + timedelta(days=2),
        ),
        (
            Reload(timedelta(days=1), time(4, tzinfo=timezone(timedelta(hours=7)))),
            NOON + timedelta(hours=9),
            NOON + timedelta(hours=33),
        ),
    ],
)
def test_the_times_of_reading(reload: Reload, first: datetime, second: datetime) -> None:
    """Reading takes half a minute."""
    assert reload.first(NOON) == first
    assert reload.following(first, first + MINUTE / 2) == second


def test_a_time_without_a_zone_is_that_of_the_machine() -> None:
    planned = Reload(timedelta(days=1), time(10, 15)).first(NOON)
    assert (planned.astimezone().hour, planned.astimezone().minute) == (10, 15)
    assert NOON < planned <= NOON + timedelta(days=1)
