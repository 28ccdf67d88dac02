from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from millstream.plan.program import compile_script
from millstream.source import SourceText
from millstream.topics.ddl import write_table
from millstream.topics.inference import infer_table
from millstream.topics.inferred_types import infer_type
from millstream.topics.messages import TopicMessage
from millstream.topics.payloads import PayloadReader
from millstream.topics.rows import read_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

REACHES = {"topic": "t", "properties.bootstrap.servers": "b:9092"}


def inferred(
    values: Sequence[Any], keys: Sequence[bytes | None] | None = None, *, is_compacted: bool = False
) -> list[str]:
    """The lines of the table, which also compiles."""
    contents = [None if value is None else value if isinstance(value, bytes) else as_json(value) for value in values]
    pairs = zip(keys or [None] * len(values), contents, strict=True)
    messages = [TopicMessage(0, at, None, key, value) for at, (key, value) in enumerate(pairs)]
    table = infer_table(read_messages(messages, PayloadReader()), is_compacted=is_compacted)
    text = write_table(table, "t", REACHES)
    query = (
        "CREATE TABLE sink WITH ('connector' = 'blackhole') LIKE t (EXCLUDING ALL); INSERT INTO sink SELECT * FROM t;"
    )
    if "AS TO_TIMESTAMP_LTZ" in text:
        query = "SELECT * FROM t;"
    assert len(compile_script(SourceText("s", f"{text}\n{query}"), {}, {}).jobs) == 1
    return [line.strip() for line in text.splitlines()]


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, None, 2], "BIGINT"),
        ([1, 2.5], "DOUBLE"),
        ([1 << 70], "DECIMAL(38, 0)"),
        ([True, None], "BOOLEAN"),
        (["a"], "STRING"),
        ([None], "STRING"),
        ([1, "a"], "STRING"),
        ([True, 1], "STRING"),
        (["2026-01-31 12:00:00", "2026-01-31 12:00:00.5"], "TIMESTAMP(3)"),
        (["2026-01-31T12:00:00Z"], "TIMESTAMP_LTZ(3)"),
        (["2026-01-31 12:00:00", "soon"], "STRING"),
        (["2026-01-31"], "DATE"),
        ([[1], [2.5], []], "ARRAY<DOUBLE>"),
        ([{"a": 1}, {"b": "x", "value": None}], "ROW<a BIGINT, b STRING, `value` STRING>"),
        ([{}], "MAP<STRING, STRING>"),
        ([{f"k{at}": at, f"l{at}": 1} for at in range(30)], "MAP<STRING, BIGINT>"),
    ],
)
def test_types(values: list[Any], expected: str) -> None:
    assert infer_type(values).sql == expected


def test_rows_in_json_with_doubts_and_a_watermark() -> None:
    lines = inferred(
        [
            {"id": 1, "amount": 12.5, "order": None, "at": "2026-01-31T12:00:00"},
            {"id": 2, "amount": 3.0, "order": None, "at": "2026-01-31T12:00:01"},
        ]
    )
    assert lines == [
        "CREATE TABLE t (",
        "id BIGINT,",
        "amount DOUBLE,  -- DECIMAL keeps the digits of amounts",
        "`order` STRING,  -- always NULL in the sample",
        "`at` TIMESTAMP(3),",
        "WATERMARK FOR `at` AS `at` - INTERVAL '5' SECOND  -- how much later rows may come is a guess",
        ") WITH (",
        "'connector' = 'kafka',",
        "'topic' = 't',",
        "'properties.bootstrap.servers' = 'b:9092',",
        "'scan.startup.mode' = 'earliest-offset',",
        "'format' = 'json',",
        "'json.timestamp-format.standard' = 'ISO-8601'",
        ");",
    ]


def test_milliseconds_become_event_time() -> None:
    lines = inferred([{"created_ms": 1_769_860_800_120, "size": 1_769_860_800_120}])
    assert "event_time AS TO_TIMESTAMP_LTZ(created_ms, 3)," in lines
    assert "event_time AS TO_TIMESTAMP_LTZ(size, 3)," not in lines


def test_tombstones_make_it_a_table_with_a_key() -> None:
    lines = inferred([{"id": 1, "n": 2}, None], [b'{"id": 1}', b'{"id": 1}'])
    assert "PRIMARY KEY (id) NOT ENFORCED" in lines
    assert lines[lines.index(") WITH (") + 1] == "'connector' = 'upsert-kafka',"
    assert {"'key.format' = 'json',", "'value.format' = 'json'"} <= set(lines)


def test_a_key_that_only_the_key_has() -> None:
    lines = inferred([{"n": 2}], [b'{"id": 1}'], is_compacted=True)
    assert lines[1:4] == ["id BIGINT,", "n BIGINT,", "PRIMARY KEY (id) NOT ENFORCED"]
    assert "'value.fields-include' = 'EXCEPT_KEY'" in lines


def test_a_key_that_is_text() -> None:
    lines = inferred([{"n": 2}], [b"ada"], is_compacted=True)
    assert lines[1:4] == ["message_key STRING,", "n BIGINT,", "PRIMARY KEY (message_key) NOT ENFORCED"]
    assert "'key.format' = 'raw'," in lines


def test_keys_of_rows_that_are_not_replaced() -> None:
    lines = inferred([{"n": 2}, {"n": 3}], [b'{"n": 2}', b'{"n": 3}'])
    assert lines[0] == "-- each message has a key, which holds n; 'key.format' and 'key.fields' read it"
    assert "'connector' = 'kafka'," in lines


@pytest.mark.parametrize(
    ("value", "format_"),
    [
        ({"before": None, "after": {"id": 1, "name": "a"}, "op": "c"}, "'format' = 'debezium-json'"),
        (
            {"schema": {}, "payload": {"before": {"id": 1, "name": "a"}, "after": None, "op": "d"}},
            "'debezium-json.schema-include' = 'true'",
        ),
        (
            {"database": "d", "table": "t", "type": "insert", "data": {"id": 1, "name": "a"}},
            "'format' = 'maxwell-json'",
        ),
    ],
)
def test_change_messages(value: Any, format_: str) -> None:
    lines = inferred([value])
    assert lines[1:3] == ["id BIGINT,", "name STRING"]
    assert format_ in lines


@pytest.mark.parametrize(("value", "type_"), [(b"a;b", "STRING"), (b"\xff", "BYTES"), (b"17", "STRING")])
def test_what_is_no_row(value: bytes, type_: str) -> None:
    lines = inferred([value])
    assert lines[0].startswith("-- the messages are neither objects in JSON nor Avro")
    assert f"message {type_}" in lines
    assert "'format' = 'raw'" in lines
