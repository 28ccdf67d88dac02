"""Settings as values: every setting that works has a field, with the value that its text says."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

from millstream.catalog.job_settings import JobSettings, RestartSettings
from millstream.catalog.restart_settings import RestartStrategy
from millstream.catalog.settings import SETTINGS
from millstream.catalog.settings_of_flink import LATER, ResultMode


def test_each_setting_that_works_has_one_field() -> None:
    declared = [
        each.metadata["option"].key for kind in (JobSettings, RestartSettings) for each in fields(kind) if each.metadata
    ]
    partly_supported = {later.option.key for later in LATER}
    assert sorted(declared) == sorted(SETTINGS.keys() - partly_supported)


def test_defaults_are_those_of_the_declarations() -> None:
    for kind in (JobSettings, RestartSettings):
        for each in fields(kind):
            if each.metadata:
                assert getattr(kind(), each.name) == each.metadata["option"].default


def test_texts_become_values() -> None:
    settings = JobSettings.of(
        {
            "parallelism.default": " 3 ",
            "table.exec.state.ttl": "90 min",
            "millstream.state.max-size": "2 gb",
            "sql-client.execution.result-mode": "tableau",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.delay": "250 ms",
            "spark.ui.enabled": "true",
            "table.local-time-zone": "UTC",
        }
    )
    assert settings == JobSettings(
        parallelism=3,
        state_ttl=timedelta(minutes=90),
        max_state_size=2 << 30,
        result_mode=ResultMode.TABLEAU,
        restarts=RestartSettings(RestartStrategy.FIXED_DELAY, fixed_delay=timedelta(milliseconds=250)),
        spark=(("spark.ui.enabled", "true"),),
    )
    assert settings.state_expires


def test_state_is_kept_unless_a_ttl_is_set() -> None:
    assert not JobSettings.of({"table.exec.state.ttl": "0 ms"}).state_expires
