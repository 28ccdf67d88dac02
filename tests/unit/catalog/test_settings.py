"""What SET accepts, and what it says of settings without effect."""

from __future__ import annotations

import pytest

from millstream.catalog.settings import SETTINGS, check_setting, setting_notice
from millstream.errors import Code, ScriptError


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("parallelism.default", "4"),
        ("pipeline.name", "views"),
        ("millstream.batch.max-rows", "3000000000"),
        ("millstream.batch.interval-ms", "0"),
        ("spark.anything", "goes"),
        ("execution.runtime-mode", "STREAMING"),
        ("table.local-time-zone", "UTC"),
        ("table.exec.state.ttl", "0"),
        ("table.exec.state.ttl", "1 d"),
        ("table.exec.source.idle-timeout", "0 ms"),
        ("table.exec.sink.not-null-enforcer", "error"),
        ("table.exec.sink.upsert-materialize", "AUTO"),
        ("table.exec.source.cdc-events-duplicate", "false"),
        ("sql-client.execution.result-mode", "tableau"),
        ("table.dynamic-table-options.enabled", "true"),
        ("restart-strategy.type", "Fixed-Delay"),
        ("restart-strategy.type", "exponentialdelay"),
        ("restart-strategy.type", "disable"),
        ("restart-strategy.exponential-delay.jitter-factor", "0"),
        ("restart-strategy.exponential-delay.max-backoff", "5 min"),
    ],
)
def test_works(key: str, value: str) -> None:
    check_setting(key, value)
    assert setting_notice(key, value) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("execution.checkpointing.interval", "10 s"),
        ("execution.checkpointing.mode", "EXACTLY_ONCE"),
        ("table.exec.mini-batch.enabled", "true"),
        ("table.exec.mini-batch.allow-latency", "5 s"),
        ("table.exec.mini-batch.size", "5000"),
        ("pipeline.auto-watermark-interval", "200"),
        ("state.backend.type", "rocksdb"),
        ("table.optimizer.agg-phase-strategy", "TWO_PHASE"),
    ],
)
def test_has_no_effect_and_says_why(key: str, value: str) -> None:
    check_setting(key, value)
    told = setting_notice(key, value)
    assert told is not None
    assert told.startswith(f"setting '{key}' has no effect: ")


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("execution.runtime-mode", "batch", Code.NOT_BUILT_YET),
        ("table.local-time-zone", "Europe/Berlin", Code.NOT_BUILT_YET),
        ("table.exec.source.idle-timeout", "5 s", Code.NOT_BUILT_YET),
        ("table.exec.sink.type-length-enforcer", "TRIM_PAD", Code.NOT_BUILT_YET),
        ("table.exec.sink.not-null-enforcer", "maybe", Code.INVALID_OPTION_VALUE),
        ("sql-client.execution.result-mode", "chart", Code.INVALID_OPTION_VALUE),
        ("table.exec.mini-batch.enabled", "yes", Code.INVALID_OPTION_VALUE),
        ("table.local-time-zone", "mean time", Code.INVALID_OPTION_VALUE),
        ("parallelism.default", "0", Code.INVALID_OPTION_VALUE),
        ("restart-strategy.type", "sometimes", Code.INVALID_OPTION_VALUE),
        ("restart-strategy.exponential-delay.jitter-factor", "1.5", Code.INVALID_OPTION_VALUE),
        ("restart-strategy.exponential-delay.backoff-multiplier", "nan", Code.INVALID_OPTION_VALUE),
        ("restart-strategy.exponential-delay.initial-backoff", "0", Code.INVALID_OPTION_VALUE),
        ("restart-strategy", "fixed-delay", Code.UNDEFINED_OPTION),
        ("table.exec.state.tll", "1 d", Code.UNDEFINED_OPTION),
        ("nonsense", "1", Code.UNDEFINED_OPTION),
    ],
)
def test_is_refused(key: str, value: str, code: Code) -> None:
    with pytest.raises(ScriptError) as caught:
        check_setting(key, value)
    assert caught.value.code is code


def test_every_setting_takes_its_default() -> None:
    for key, option in SETTINGS.items():
        assert option.doc.endswith(".")
        if isinstance(option.default, str | int):
            check_setting(key, str(option.default))
