"""What is accepted and cannot run yet is refused by name, with its place, and only when it is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.errors import Code, ScriptError
from millstream.plan.program import compile_script
from millstream.runtime.before_start import refuse_unbuilt
from millstream.source import SourceText
from millstream.sql.types import BIGINT, STRING, DataType, TypeRoot
from tests.declaring import COLUMNS, KAFKA, KEYED, UPSERT, declare, metadata_column, sink, source

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.catalog.table import CatalogTable
    from millstream.connectors.kafka.tables import KafkaSink, KafkaSource

TABLES = (
    "CREATE TABLE a (id INT) WITH ('connector' = 'kafka', 'topic' = 'a', 'properties.bootstrap.servers' = 'x:9092', "
    "'format' = 'json'{read}); "
    "CREATE TABLE b (id INT) WITH ('connector' = 'kafka', 'topic' = 'b', 'properties.bootstrap.servers' = 'x:9092', "
    "'format' = 'json'{written}); INSERT INTO b SELECT id FROM a;"
)


@pytest.mark.parametrize("resolve", [source, sink])
@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"security.protocol": "SASL_SSL"}, "security.protocol"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, "sasl.mechanism"),
        ({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}, "sasl.mechanism"),
        ({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "AWS_MSK_IAM"}, "sasl.mechanism"),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "/trust", "ssl.truststore.type": "BCFKS"},
            "ssl.truststore.type",
        ),
    ],
)
def test_connections_that_only_java_makes(
    resolve: Callable[[CatalogTable], KafkaSource | KafkaSink], options: dict[str, str], key: str
) -> None:
    table = declare({**KAFKA, **{f"properties.{name}": value for name, value in options.items()}})
    [problem] = resolve(table).find_unsupported()
    assert problem.code is Code.INVALID_OPTION_VALUE
    assert problem.span in [entry.key_span for entry in table.options if entry.key == f"properties.{key}"]


@pytest.mark.parametrize(
    "options",
    [
        {"sink.partitioner": "fixed"},
        {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "p"},
        {"sink.semantic": "exactly-once"},
        {"sink.partitioner": "shop.routing:ByRegion"},
        {"format": "canal-json"},
        {"format": "avro-confluent", "avro-confluent.url": "http://r"},
        {"key.format": "json", "key.fields": "id"},
        {"key.format": "raw", "key.fields": "id", "key.fields-prefix": "i", "value.fields-include": "EXCEPT_KEY"},
    ],
)
def test_what_runs_as_a_sink(options: dict[str, str]) -> None:
    assert list(sink(declare({**KAFKA, **options})).find_unsupported()) == []


def test_several_topics_to_write_to() -> None:
    table = declare({**KAFKA, "topic": "a;b"}, COLUMNS, metadata_column("topic", STRING))
    assert list(sink(table).find_unsupported()) == []


def test_metadata() -> None:
    table = declare(KAFKA, COLUMNS, metadata_column("offset", BIGINT, virtual=True))
    assert [*source(table).find_unsupported(), *sink(table).find_unsupported()] == []


def test_time_of_a_message_can_be_written() -> None:
    written = metadata_column("at", DataType(TypeRoot.TIMESTAMP_LTZ, precision=3), "timestamp")
    assert list(sink(declare(KAFKA, COLUMNS, written)).find_unsupported()) == []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"properties.security.protocol": "plaintext"},
        {"properties.security.protocol": "SSL"},
        {"scan.startup.mode": "latest-offset"},
        {"sink.partitioner": "round-robin"},
        {"sink.delivery-guarantee": "none"},
        {"sink.parallelism": "2"},
        {"scan.bounded.mode": "unbounded"},
    ],
)
def test_what_is_read_or_written(options: dict[str, str]) -> None:
    table = declare({**KAFKA, **options})
    assert [*source(table).find_unsupported(), *sink(table).find_unsupported()] == []
    assert list(sink(declare(UPSERT, KEYED)).find_unsupported()) == []


@pytest.mark.parametrize(
    "options",
    [
        {"topic": None, "topic-pattern": "a.*"},
        {"format": "debezium-json"},
        {"key.format": "json", "key.fields": "id"},
        {"scan.bounded.mode": "latest-offset"},
    ],
)
def test_what_is_read(options: dict[str, str | None]) -> None:
    assert list(source(declare({**KAFKA, **options})).find_unsupported()) == []
    assert list(source(declare(UPSERT, KEYED)).find_unsupported()) == []


def test_a_plan_can_be_made_of_what_cannot_run() -> None:
    script = TABLES.format(read="", written=", 'sink.partitioner' = 'a.B'").replace("id INT", "id INTERVAL DAY")
    program = compile_script(SourceText("s", script), {}, {})
    with pytest.raises(ScriptError) as caught:
        refuse_unbuilt(program)
    codes = [problem.code for problem in caught.value.diagnostics]
    assert codes == [Code.NOT_BUILT_YET, Code.NOT_BUILT_YET, Code.INVALID_OPTION_VALUE]


def test_watermarks_are_told_to_have_no_effect_once_per_table_that_is_read() -> None:
    script = """CREATE TABLE a (`at` TIMESTAMP(3),
      WATERMARK FOR `at` AS `at` - INTERVAL '5' SECOND) WITH ('connector' = 'datagen', 'number-of-rows' = '1');
    CREATE TABLE unread (`at` TIMESTAMP(3), WATERMARK FOR `at` AS `at`) WITH ('connector' = 'datagen');
    CREATE TABLE b (`at` TIMESTAMP(3), WATERMARK FOR `at` AS `at`) WITH ('connector' = 'print');
    INSERT INTO b SELECT `at` FROM a;
    SELECT `at` FROM a;"""
    [notice] = compile_script(SourceText("s.sql", script), {}, {}).notices
    assert notice.startswith('s.sql:2: WATERMARK of table "a" ')
    assert "has no effect here" in notice


def test_how_watermarks_are_sent_on_has_no_effect() -> None:
    read = ", 'scan.watermark.idle-timeout' = '1 s', 'scan.watermark.emit.strategy' = 'on-event'"
    program = compile_script(SourceText("s", TABLES.format(read=read, written="")), {}, {})
    refuse_unbuilt(program)
    assert [text.split("'")[1] for text in program.notices] == ["scan.watermark.emit.strategy"]


def test_two_jobs_cannot_share_a_prefix() -> None:
    once = ", 'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = 'p'"
    script = TABLES.format(read="", written=once)
    refuse_unbuilt(compile_script(SourceText("s", script), {}, {}))
    with pytest.raises(ScriptError) as caught:
        refuse_unbuilt(compile_script(SourceText("s", f"{script} INSERT INTO b SELECT id + 1 FROM a;"), {}, {}))
    assert [problem.code for problem in caught.value.diagnostics] == [Code.CONFLICTING_OPTIONS]
    both = "EXECUTE STATEMENT SET BEGIN INSERT INTO b SELECT id FROM a; INSERT INTO b SELECT id + 1 FROM a; END;"
    tables = script.partition("INSERT")[0]
    refuse_unbuilt(compile_script(SourceText("s", tables + both), {}, {}))


def test_notices_are_told_once() -> None:
    twice = TABLES.format(read=", 'scan.parallelism' = '2'", written=", 'sink.semantic' = 'at-least-once'")
    script = f"SET 'table.exec.mini-batch.enabled' = 'true'; {twice} INSERT INTO b SELECT id FROM a;"
    notices = list(compile_script(SourceText("s", script), {}, {}).notices)
    assert [text.split("'")[1] for text in notices] == [
        "table.exec.mini-batch.enabled",
        "scan.parallelism",
        "sink.semantic",
    ]


def test_a_statement_set_writes_to_kafka_alone() -> None:
    """To any cluster: each table has its own producers."""
    tables = TABLES.format(read="", written="").replace(" INSERT INTO b SELECT id FROM a;", "")
    tables += (
        "CREATE TABLE c WITH ('properties.bootstrap.servers' = 'other:9092') LIKE b; "
        "CREATE TABLE p (id INT) WITH ('connector' = 'print');"
    )
    inserts = " ".join(f"INSERT INTO {name} SELECT id FROM a;" for name in "bcp")
    program = compile_script(SourceText("s", f"{tables} EXECUTE STATEMENT SET BEGIN {inserts} END;"), {}, {})
    with pytest.raises(ScriptError) as caught:
        refuse_unbuilt(program)
    assert [problem.code for problem in caught.value.diagnostics] == [Code.UNSUPPORTED_STATEMENT]
    assert 'cannot write to "p"' in caught.value.diagnostics[0].primary
