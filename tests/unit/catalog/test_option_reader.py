"""What the reader of options says of keys."""

from __future__ import annotations

import pytest

from millstream.connectors.registry import resolve_source
from millstream.errors import Code, ScriptError
from tests.declaring import KAFKA, KEYED, UPSERT, declare, declare_sql, problems, sink, source, source_codes

LEGACY = {
    "connector.type": "kafka",
    "connector.topic": "orders",
    "connector.properties.bootstrap.servers": "localhost:9092",
    "format.type": "json",
}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("bootstrap.servers", "properties.bootstrap.servers"),
        ("kafka.bootstrap.servers", "properties.bootstrap.servers"),
        ("group.id", "properties.group.id"),
        ("sasl.mechanism", "properties.sasl.mechanism"),
        ("startup.mode", "scan.startup.mode"),
        ("scan.startup-mode", "scan.startup.mode"),
        ("Format", "format"),
        ("json.ignore-parse-error", "json.ignore-parse-errors"),
        ("sink.delivery_guarantee", "sink.delivery-guarantee"),
        ("value.fields.include", "value.fields-include"),
    ],
)
def test_what_was_meant(written: str, meant: str) -> None:
    [problem] = problems(source, declare({**KAFKA, written: "x"}))
    assert (problem.code, problem.hint) == (Code.UNDEFINED_OPTION, f"Did you mean '{meant}'?")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("connector.topics", "connector.topic"),
        ("connector.properties-bootstrap.servers", "connector.properties.bootstrap.servers"),
        ("connector.group.id", "connector.properties.group.id"),
        ("format.ignore-parse-error", "format.ignore-parse-errors"),
        ("connector.startup.mode", "connector.startup-mode"),
        ("connector.sink-ignore-retraction", "connector.sink.ignore-retraction"),
    ],
)
def test_what_was_meant_in_the_older_dialect(written: str, meant: str) -> None:
    [problem] = problems(source, declare({**LEGACY, written: "x"}))
    assert (problem.code, problem.hint) == (Code.UNDEFINED_OPTION, f"Did you mean '{meant}'?")


def test_a_key_like_no_other_gets_the_nearest_and_where_all_are() -> None:
    [problem] = problems(source, declare({**KAFKA, "zzz": "x"}))
    assert problem.hint is None
    assert (problem.detail or "").count(",") == 8
    assert "`millstream options kafka` lists all" in (problem.detail or "")


@pytest.mark.parametrize(("key", "meant"), [("TOPIC", "topic"), ("topc", "topic")])
def test_what_a_slip_was_meant_for_is_not_missing_as_well(key: str, meant: str) -> None:
    [problem] = problems(source, declare({**KAFKA, "topic": None, key: "t"}))
    assert (problem.code, problem.hint) == (Code.UNDEFINED_OPTION, f"Did you mean '{meant}'?")


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("scan.startup.mode", "earliest offset"),
        ("scan.startup.timestamp-millis", "earliest offset"),
        ("key.fields", "PRIMARY KEY"),
        ("format", "'key.format' and 'value.format'"),
        ("sink.partitioner", "partition"),
        ("sink.semantic", "'sink.delivery-guarantee'"),
    ],
)
def test_what_only_connector_kafka_has(key: str, hint: str) -> None:
    [problem] = problems(sink, declare({**UPSERT, key: "json"}, KEYED))
    assert problem.code is Code.UNDEFINED_OPTION
    assert hint in (problem.hint or "")


def test_what_only_connector_kafka_has_in_the_older_dialect() -> None:
    options = {**LEGACY, "connector.type": "upsert-kafka", "connector.startup-mode": "earliest-offset"}
    [problem] = problems(source, declare(options, KEYED))
    assert "'connector.startup-mode'" in problem.primary
    assert "earliest offset" in (problem.hint or "")


def test_what_is_not_built_is_not_suggested() -> None:
    table = declare({"connector": "filesystem", "path": "p", "format": "json", "auto-compactoin": "true"})
    with pytest.raises(ScriptError) as caught:
        resolve_source(table)
    assert caught.value.diagnostics[0].hint is None


@pytest.mark.parametrize(
    ("name", "meant"), [("JSON", "json"), ("Debezium-Json", "debezium-json"), ("protobu", "protobuf"), ("yaml", None)]
)
def test_format_in_another_case(name: str, meant: str | None) -> None:
    [problem] = problems(source, declare({**KAFKA, "format": name}))
    assert (problem.hint or "").startswith(f"Did you mean '{meant}'?" if meant else "Formats: ")


@pytest.mark.parametrize("key", ["Connector", "conector"])
def test_slip_in_the_key_of_the_connector(key: str) -> None:
    [problem] = problems(source, declare({**KAFKA, "connector": None, key: "kafka"}))
    assert (problem.code, problem.hint) == (Code.MISSING_CONNECTOR, f"Write 'connector' instead of '{key}'.")


def test_options_of_the_other_role_are_silent() -> None:
    options = {**KAFKA, "sink.partitioner": "fixed", "scan.startup.mode": "latest-offset"}
    assert source(declare(options)).notices == ()
    assert sink(declare(options)).notices == ()


def test_of_a_repeated_key_the_last_holds_and_that_is_told() -> None:
    table = declare_sql(
        "CREATE TABLE t (a INT) WITH (\n'connector' = 'kafka',\n'topic' = 'a',\n'format' = 'json',\n"
        "'properties.bootstrap.servers' = 'x:9092',\n'topic' = 'b')"
    )
    found = source(table)
    assert found.topics == ("b",)
    assert [("line 3" in notice.text, notice.span.line) for notice in found.notices if "'topic'" in notice.text] == [
        (True, 6)
    ]


@pytest.mark.parametrize(
    ("options", "first", "second", "instead"),
    [
        ({**LEGACY, "connector.topic": None, "topic": "a"}, "connector.type", "topic", "connector.topic"),
        ({**LEGACY, "format.type": None, "format": "json"}, "connector.type", "format", "format.type"),
        ({**LEGACY, "properties.acks": "all"}, "connector.type", "properties.acks", "connector.properties.acks"),
        ({**KAFKA, "topic": None, "connector.topic": "a"}, "connector", "connector.topic", "topic"),
        ({**KAFKA, "connector.type": "kafka"}, "connector", "connector.type", "connector"),
        ({**KAFKA, "format": None, "format.type": "json"}, "connector", "format.type", "format"),
    ],
)
def test_mixed_dialects(options: dict[str, str | None], first: str, second: str, instead: str) -> None:
    [problem] = problems(source, declare(options))
    assert problem.code is Code.CONFLICTING_OPTIONS
    assert problem.primary == f"options '{first}' and '{second}' belong to two dialects"
    assert f"'{instead}'" in (problem.hint or "")


def test_option_that_the_older_dialect_lacks() -> None:
    [problem] = problems(source, declare({**LEGACY, "scan.bounded.mode": "latest-offset"}))
    assert problem.code is Code.CONFLICTING_OPTIONS


def test_all_problems_at_once() -> None:
    options = {"connector": "kafka", "topc": "a", "scan.startup.mode": "x", "value.format": "y", "key.fields": "z"}
    assert sorted(source_codes(declare(options))) == sorted(
        [
            Code.MISSING_OPTION,
            Code.MISSING_OPTION,
            Code.UNDEFINED_OPTION,
            Code.INVALID_OPTION_VALUE,
            Code.INVALID_OPTION_VALUE,
            Code.UNDEFINED_FORMAT,
        ]
    )


def test_messages_name_the_key_that_was_written() -> None:
    legacy = {**LEGACY, "connector.type": "upsert-kafka", "format.ignore-parse-errors": "perhaps"}
    [problem] = problems(source, declare(legacy, KEYED))
    assert "'format.ignore-parse-errors'" in problem.primary


def test_json_parser_switch_is_told_or_refused_by_name() -> None:
    found = problems(source, declare({**UPSERT, "value.json.decode.json-parser.enabled": "true"}, KEYED))
    assert {problem.code for problem in found} <= {Code.NOT_BUILT_YET}
