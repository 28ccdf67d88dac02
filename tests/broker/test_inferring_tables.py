"""`millstream produce` and `infer` on a real broker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from millstream.cli.main import app
from millstream.plan.program import compile_script
from millstream.source import SourceText
from millstream.testing.script_kafka import ScriptKafka
from tests.runtime.topics import fresh_name

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def run(broker: str) -> Callable[..., tuple[int, str]]:
    def invoke(*arguments: object, lines: str = "") -> tuple[int, str]:
        result = CliRunner().invoke(app, [*map(str, arguments), "--brokers", broker], input=lines)
        return result.exit_code, result.output

    return invoke


@pytest.fixture
def topic(broker: str) -> str:
    name = fresh_name("orders")
    ScriptKafka(broker).create_topic(name, 4)
    return name


def murmur2(key: bytes) -> int:
    """As the client for Java computes it from a key of less than four bytes; without the sign."""
    factor, bits = 0x5BD1E995, 0xFFFFFFFF
    hashed = 0x9747B28C ^ len(key)
    if key:
        hashed = (hashed ^ int.from_bytes(key, "little")) * factor & bits
    hashed = (hashed ^ hashed >> 13) * factor & bits
    return (hashed ^ hashed >> 15) & 0x7FFFFFFF


def test_rows_go_to_the_partitions_of_their_keys(run: Callable[..., tuple[int, str]], broker: str, topic: str) -> None:
    """Where Kafka's client for Java puts them: murmur2 of the key."""
    lines = "".join(f'{{"id":{number % 50}}}\n' for number in range(10_000))
    assert run("produce", topic, "--key", "id", lines=lines) == (0, f"10,000 messages written to {topic}\n")
    received = ScriptKafka(broker).read(topic)
    assert sorted(json.loads(each.message.value or b"")["id"] for each in received) == sorted(
        number % 50 for number in range(10_000)
    )
    assert all(each.partition == murmur2(each.message.key or b"") % 4 for each in received)


def test_a_wrong_line_is_named(run: Callable[..., tuple[int, str]], topic: str) -> None:
    code, output = run("produce", topic, "--key", "id", lines='{"id":1}\nnonsense\n')
    assert code == 2
    assert 'line 2 is no JSON object with a field "id"' in output


def test_the_inferred_table_reads_the_topic(run: Callable[..., tuple[int, str]], topic: str) -> None:
    run("produce", topic, lines='{"id":1,"at":"2026-01-31 12:00:00"}\n{"id":2,"at":null,"tags":["a"]}\n')
    code, output = run("infer", topic, "--name", "orders")
    assert code == 0
    assert output.startswith("-- inferred from 2 messages\nCREATE TABLE orders (\n  id BIGINT,\n")
    assert "tags ARRAY<STRING>" in output
    assert compile_script(SourceText("s", f"{output}\nSELECT * FROM orders;"), {}, {}).jobs


def test_an_empty_topic(run: Callable[..., tuple[int, str]], topic: str) -> None:
    code, output = run("infer", topic)
    assert code == 2
    assert "has no messages to infer a table from" in output
