"""What SET accepts, and what it says of settings without effect."""

from __future__ import annotations

import pytest

from millstream.catalog.settings import SETTINGS, check_setting, setting_notice
from millstream.catalog.settings_without_effect import WITHOUT_EFFECT
from millstream.errors import Code, ScriptError


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("parallelism.default", "4"),
        ("pipeline.name", "views"),
        ("millstream.batch.max-rows", "3000000000"),
        ("millstream.batch.interval-ms", "0"),
        ("spark.anything", "goes"),
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.sql.session.timeZone", ""),
        ("execution.runtime-mode", "STREAMING"),
        ("table.local-time-zone", "UTC"),
        ("table.sql-dialect", "default"),
        ("table.sql-dialect", "DEFAULT"),
        *(("table.local-time-zone", zone) for zone in ("utc", "GMT+0", "UTC+0", "Etc/GMT", "GMT-00:00", "Z", "+00:00")),
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
        ("table.dml-sync", "true"),
        ("table.exec.resource.default-parallelism", "4"),
        ("table.display.max-column-width", "80"),
        ("table.exec.async-lookup.timeout", "3 min"),
        ("pipeline.operator-chaining.enabled", "false"),
        ("pipeline.operator-chaining", "false"),
        ("pipeline.max-parallelism", "128"),
        ("sql-client.execution.max-table-result.rows", "100"),
        ("sql-client.verbose", "true"),
        ("execution.savepoint.path", "s3://savepoints/1"),
        ("yarn.application.name", "pageviews"),
        ("kubernetes.cluster-id", "a"),
        ("high-availability", "zookeeper"),
        ("rest.port", "8081"),
        ("containerized.heap-cutoff-ratio", "0.25"),
        ("plugin.classloader.parent-first-patterns.default", "java."),
        ("scheduler-mode", "reactive"),
        ("lineage.x", "y"),
        ("user.artifacts.base-dir", "/tmp"),
        ("metrics.reporters", "prom"),
        ("state.backend.type", "rocksdb"),
        ("millstream.aggregate.native", "auto"),
        ("table.optimizer.agg-phase-strategy", "TWO_PHASE"),
    ],
)
def test_has_no_effect_and_says_why(key: str, value: str) -> None:
    check_setting(key, value)
    notice = setting_notice(key, value)
    assert notice is not None
    assert notice.startswith(f"setting '{key}' has no effect: ")


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("execution.runtime-mode", "batch", Code.NOT_BUILT_YET),
        ("table.local-time-zone", "Europe/Berlin", Code.NOT_BUILT_YET),
        ("table.local-time-zone", "GMT+01:00", Code.NOT_BUILT_YET),
        ("table.local-time-zone", "UTC+5", Code.NOT_BUILT_YET),
        ("table.sql-dialect", "hive", Code.NOT_BUILT_YET),
        ("table.exec.legacy-cast-behaviour", "enabled", Code.NOT_BUILT_YET),
        ("table.column-expansion-strategy", "EXCLUDE_DEFAULT_VIRTUAL_METADATA_COLUMNS", Code.NOT_BUILT_YET),
        ("table.dml-sync", "perhaps", Code.INVALID_OPTION_VALUE),
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


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("table.exec.state.tll", "table.exec.state.ttl"),
        ("tabel.exec.state.ttl", "table.exec.state.ttl"),
        ("pipeline.nam", "pipeline.name"),
        ("restart-strategy", "restart-strategy.type"),
        ("parallelism", None),
        ("table.exec.iceberg.infer-source-parallelism", None),
        ("table.exec.source.watermark", None),
        ("lookup.cache.max-rows", None),
        ("nonsense", None),
    ],
)
def test_unknown_setting_suggests_what_is_much_like_it_and_nothing_else(key: str, meant: str | None) -> None:
    with pytest.raises(ScriptError) as caught:
        check_setting(key, "1")
    [problem] = caught.value.diagnostics
    assert (f"'{meant}'" in (problem.hint or "")) == (meant is not None), problem.hint
    assert len(problem.detail or "") < 300


def test_settings_that_work_are_not_among_those_without_effect() -> None:
    for setting in WITHOUT_EFFECT:
        assert setting.key not in SETTINGS
        assert not setting.because.endswith(".")


def test_every_setting_takes_its_default() -> None:
    for key, option in SETTINGS.items():
        assert option.doc.endswith(".")
        if isinstance(option.default, str | int):
            check_setting(key, str(option.default))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.session.timeZone", "Europe/Berlin"),
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.caseSensitive", "false"),
        ("spark.sql.legacy.timeParserPolicy", "LEGACY"),
        ("spark.sql.icu.caseMappings.enabled", "false"),
    ],
)
def test_settings_of_spark_that_results_depend_on_are_fixed(key: str, value: str) -> None:
    with pytest.raises(ScriptError) as error:
        check_setting(key, value)
    [problem] = error.value.diagnostics
    assert (problem.code, key in problem.primary) == (Code.INVALID_OPTION_VALUE, True)
