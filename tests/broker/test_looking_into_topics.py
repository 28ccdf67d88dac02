"""`millstream topics`, `describe` and `peek` on a real broker."""

from __future__ import annotations

import json
import struct
from io import BytesIO
from typing import TYPE_CHECKING, Any

import fastavro
import pytest
from confluent_kafka import Producer, TopicPartition
from typer.testing import CliRunner

from millstream.cli.main import app
from millstream.formats.confluent_format import RegistryOptions
from millstream.formats.schema_registry import SchemaRegistry
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.schema_registry import EmbeddedSchemaRegistry
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from millstream.topics.cluster import Cluster
from millstream.topics.messages import follow
from millstream.topics.starts import starts_of
from tests.runtime.topics import as_json, delete_before, fresh_name

if TYPE_CHECKING:
    from collections.abc import Callable

PARTITIONS = 3


@pytest.fixture
def run(broker: str) -> Callable[..., tuple[int, str]]:
    def invoke(*arguments: object) -> tuple[int, str]:
        result = CliRunner().invoke(app, [*map(str, arguments), "--brokers", broker])
        return result.exit_code, result.output

    return invoke


@pytest.fixture
def topic(broker: str) -> str:
    """Numbers from 0 to 1199, in turn in three partitions, and more of them than are fetched together."""
    name = fresh_name("numbers")
    ScriptKafka(broker).create_topic(name, PARTITIONS)
    with_times(broker, name, range(1200))
    return name


def with_times(broker: str, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": broker, "linger.ms": 100})
    for number in numbers:
        producer.produce(topic, as_json({"n": number}), partition=number % PARTITIONS, timestamp=1_000_000 + number)
    assert producer.flush(30) == 0


def rows_of(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()[2:]]


def objects_of(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def numbers_of(output: str) -> list[int]:
    return [found["value"]["n"] for found in objects_of(output)]


def test_topics_lists_partitions_and_messages(run: Callable[..., tuple[int, str]], broker: str, topic: str) -> None:
    code, output = run("topics", "--json")
    assert code == 0
    assert {"topic": topic, "partitions": 3, "messages": 1200} in json.loads(output)["topics"]
    delete_before(broker, topic, 100)
    assert [topic, "3", "1,100"] in rows_of(run("topics")[1])


def test_describe_shows_partitions_settings_and_lag(
    run: Callable[..., tuple[int, str]], broker: str, topic: str
) -> None:
    group = fresh_name("group")
    admin = KafkaAdmin({"bootstrap.servers": broker})
    admin.commit([TopicPartition(topic, 0, 50), TopicPartition(topic, 2, 400)], group)
    delete_before(broker, topic, 100)
    found = json.loads(run("describe", topic, "--json")[1])
    assert found["partitions"][0] == {"partition": 0, "earliest": 100, "latest": 400, "messages": 300}
    assert found["groups"] == [{"group": group, "lag": 300, "partitions": {"0": 300, "2": 0}}]
    assert found["settings"]["cleanup.policy"] == "delete"
    code, output = run("describe", topic)
    assert code == 0
    assert f"{topic}: 1,100 messages in 3 partitions" in output
    assert "max.message.bytes   1048588 (1.0 MB)" in output
    assert "retention.bytes     -1 (no limit)" in output
    assert f"{group}  300  0: 300, 2: 0" in output


def test_newest_messages_of_all_partitions_in_order(run: Callable[..., tuple[int, str]], topic: str) -> None:
    code, output = run("peek", topic)
    assert code == 0
    assert output.splitlines()[0].split() == ["partition", "offset", "time", "n"]
    assert [row[-1] for row in rows_of(output)] == [str(number) for number in range(1190, 1200)]
    assert numbers_of(run("peek", topic, "-n", 5, "--json")[1]) == [1195, 1196, 1197, 1198, 1199]


def test_conditions_look_as_far_back_as_they_must(run: Callable[..., tuple[int, str]], topic: str) -> None:
    assert numbers_of(run("peek", topic, "--json", "-n", 2, "--where", "n < 3")[1]) == [1, 2]
    code, output = run("peek", topic, "--where", "m < 3")
    assert code == 2
    assert 'no message has a column "m"' in output


def test_places_to_begin(run: Callable[..., tuple[int, str]], topic: str) -> None:
    every = numbers_of(run("peek", topic, "--json", "--from", "earliest", "-n", 5000)[1])
    assert sorted(every) == list(range(1200))
    assert sorted(numbers_of(run("peek", topic, "--json", "--from", "399", "-n", 5000)[1])) == [1197, 1198, 1199]
    assert sorted(numbers_of(run("peek", topic, "--json", "--from", "1970-01-01T00:16:41.198+00:00")[1])) == [
        1198,
        1199,
    ]
    assert run("peek", topic, "--from", "latest")[1] == f"no message of {topic} is there\n"
    assert run("peek", topic, "--from", "1h")[1] == f"no message of {topic} is there\n"
    assert run("peek", topic, "--from", "tomorrow")[0] == 2


def test_transactions_that_were_aborted_are_left_out(
    run: Callable[..., tuple[int, str]], broker: str, topic: str
) -> None:
    producer = Producer({"bootstrap.servers": broker, "transactional.id": fresh_name("writer")})
    producer.init_transactions(30)
    for ends in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for number in range(2000, 2040):
            producer.produce(topic, as_json({"n": number}), partition=0, timestamp=2_000_000 + number)
        producer.flush(30)
        ends()
    assert numbers_of(run("peek", topic, "--json", "-n", 41)[1]) == [1199, *range(2000, 2040)]


def test_what_arrives_is_followed(broker: str, topic: str) -> None:
    cluster = Cluster({"bootstrap.servers": broker})
    arriving = follow(cluster, topic, starts_of(cluster, topic, "399"))
    seen: list[bytes | None] = []
    while len(seen) < 3:
        seen += [message.value for message in next(arriving)]
    with_times(broker, topic, range(1200, 1203))
    while len(seen) < 6:
        seen += [message.value for message in next(arriving)]
    assert sorted(map(json.loads, filter(None, seen)), key=str) == [{"n": number} for number in range(1197, 1203)]


def test_a_followed_topic_ends_at_the_limit(run: Callable[..., tuple[int, str]], topic: str) -> None:
    assert len(numbers_of(run("peek", topic, "--json", "--from", "earliest", "--follow", "-n", 700)[1])) == 700
    assert numbers_of(run("peek", topic, "--json", "--follow", "-n", 3)[1]) == [1197, 1198, 1199]


def test_avro_with_a_registry_and_tombstones(run: Callable[..., tuple[int, str]], broker: str) -> None:
    name = fresh_name("avro")
    schema = {"type": "record", "name": "row", "fields": [{"name": "id", "type": "int"}]}
    with EmbeddedSchemaRegistry() as registry:
        number = SchemaRegistry(RegistryOptions(registry.url)).register("rows-value", schema)
        stream = BytesIO(struct.pack(">bI", 0, number))
        stream.seek(0, 2)
        fastavro.schemaless_writer(stream, schema, {"id": 7})
        sent = [Message(b"k", stream.getvalue()), Message(b"k", None)]
        ScriptKafka(broker).create_topic(name, 1)
        ScriptKafka(broker).produce(name, sent, 0)
        rows = rows_of(run("peek", name, "--registry", registry.url)[1])
        assert [row[-2:] for row in rows] == [["k", "7"], ["k", "<tombstone>"]]
        assert f"0x{stream.getvalue().hex()}" in run("peek", name)[1]


def test_a_misspelt_topic(run: Callable[..., tuple[int, str]], topic: str) -> None:
    for command in ("peek", "describe"):
        code, output = run(command, topic[:-1] + "_")
        assert code == 1
        assert "M4002" in output
        assert f'Did you mean "{topic}"?' in output


def test_no_broker() -> None:
    result = CliRunner().invoke(app, ["topics", "--brokers", "127.0.0.1:1"])
    assert result.exit_code == 1
    assert "M4001" in result.output
