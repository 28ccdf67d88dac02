"""A statement set whose INSERTs read one table: it is read once, and the result of each sink is correct."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from millstream import Session
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.script_kafka import ScriptKafka
from tests.patience import PATIENCE
from tests.runtime.counting import SCRIPT, numbers, truth
from tests.runtime.topics import fresh_name, produce, read_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

TABLES = (
    SCRIPT.partition("INSERT")[0]
    + """
CREATE TABLE large (digit BIGINT, n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${large}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
CREATE TABLE stamped (n BIGINT, written TIMESTAMP_LTZ(3) METADATA FROM 'timestamp') WITH (
  'connector' = 'kafka', 'topic' = '${large}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'json');
CREATE TABLE small (n BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '${small}', 'properties.bootstrap.servers' = '${brokers}', 'format' = 'csv');
"""
)
LARGE = "INSERT INTO large SELECT digit, n FROM numbers WHERE n >= 1000;"
BY_SPARK = LARGE.replace(";", " AND REGEXP(CAST(digit AS STRING), '^[0-9]$');")
"""With a condition that only Spark evaluates, so that all readers part there."""
SMALL = "INSERT INTO small SELECT n FROM numbers WHERE n < 10;"
DIGITS = "INSERT INTO digits SELECT digit, COUNT(*), COUNT(DISTINCT n) FROM numbers GROUP BY digit;"


@pytest.fixture
def parameters(broker: str) -> dict[str, str]:
    names = {name: fresh_name(name) for name in ("numbers", "digits", "large", "small")}
    for topic in names.values():
        KafkaAdmin({"bootstrap.servers": broker}).ensure_topic(topic, topic)
    return {"brokers": broker, **names}


def read_messages(brokers: str, topic: str) -> list[str]:
    return sorted((received.message.value or b"").decode() for received in ScriptKafka(brokers).read(topic))


def run_set(spark: SparkSession, folder: Path, parameters: dict[str, str], *inserts: str) -> tuple[int, int]:
    """Returns how many rows were read, and from how many sources."""
    script = f"{TABLES} EXECUTE STATEMENT SET BEGIN {' '.join(inserts)} END;"
    with Session(spark, checkpoint=folder) as session:
        [job] = session.execute_sql(script, parameters=parameters, drain=True)
        assert job.await_end(PATIENCE)
        job.await_last_report(PATIENCE)
    assert job.progress is not None
    return job.progress.total_rows_in, len(job.progress.lag)


@pytest.mark.parametrize("large", [LARGE, BY_SPARK], ids=["in-python", "in-spark"])
def test_three_readers_read_each_message_once(
    broker: str, spark: SparkSession, parameters: dict[str, str], tmp_path: Path, large: str
) -> None:
    rows = numbers(range(2000))
    produce(broker, parameters["numbers"], rows)
    assert run_set(spark, tmp_path, parameters, large, DIGITS, SMALL) == (2000, 1)
    assert read_table(broker, parameters["digits"]) == truth(rows)
    expected = [json.dumps(row, separators=(",", ":")) for row in rows if row["n"] >= 1000]
    assert read_messages(broker, parameters["large"]) == sorted(expected)
    assert read_messages(broker, parameters["small"]) == [str(n) for n in range(10)]


@pytest.mark.parametrize("large", [LARGE, BY_SPARK], ids=["in-python", "in-spark"])
def test_readers_without_state_read_each_message_once(
    broker: str, spark: SparkSession, parameters: dict[str, str], tmp_path: Path, large: str
) -> None:
    rows = numbers(range(1500))
    produce(broker, parameters["numbers"], rows)
    assert run_set(spark, tmp_path, parameters, large, SMALL) == (1500, 1)
    assert len(read_messages(broker, parameters["large"])) == 500
    assert read_messages(broker, parameters["small"]) == [str(n) for n in range(10)]


def test_two_inserts_into_one_table_and_one_with_timestamps(
    broker: str, spark: SparkSession, parameters: dict[str, str], tmp_path: Path
) -> None:
    produce(broker, parameters["numbers"], numbers(range(1500)))
    stamped = "INSERT INTO stamped SELECT n, TO_TIMESTAMP_LTZ(1700000000000 + n, 3) FROM numbers WHERE n >= 1400;"
    rest = SMALL.replace("n < 10", "n >= 1490")
    assert run_set(spark, tmp_path, parameters, SMALL, stamped, rest) == (1500, 1)
    assert len(read_messages(broker, parameters["large"])) == 100
    assert read_messages(broker, parameters["small"]) == sorted(str(n) for n in (*range(10), *range(1490, 1500)))


def test_one_insert_exactly_once_and_another_at_least_once(
    broker: str, spark: SparkSession, parameters: dict[str, str], tmp_path: Path
) -> None:
    """A transaction takes all that a task has, so each INSERT reads for itself."""
    produce(broker, parameters["numbers"], numbers(range(1500)))
    once = f"'sink.delivery-guarantee'='exactly-once', 'sink.transactional-id-prefix'='{parameters['large']}'"
    large = LARGE.replace("INTO large", f"INTO large /*+ OPTIONS({once}) */")
    assert run_set(spark, tmp_path, parameters, large, SMALL) == (3000, 2)
    assert len(read_messages(broker, parameters["large"])) == 500
    assert read_messages(broker, parameters["small"]) == [str(n) for n in range(10)]


def test_messages_of_a_partition_stay_in_their_order(
    broker: str, spark: SparkSession, parameters: dict[str, str], tmp_path: Path
) -> None:
    """Also beside an aggregate, whose rows are exchanged."""
    produce(broker, parameters["numbers"], numbers(range(4000)))
    found = {received.message.value: received.partition for received in ScriptKafka(broker).read(parameters["numbers"])}
    ordered = LARGE.replace("WHERE n >= 1000", "").replace("large", "large /*+ OPTIONS('sink.partitioner'='fixed') */")
    run_set(spark, tmp_path, parameters, ordered, DIGITS)
    by_partition: dict[int, list[int]] = {}
    for received in ScriptKafka(broker).read(parameters["large"]):
        by_partition.setdefault(received.partition, []).append(json.loads(received.message.value or b"")["n"])
    assert sorted(n for read in by_partition.values() for n in read) == list(range(4000))
    assert len(set(found.values())) == len(by_partition) > 1
    assert all(read == sorted(read) for read in by_partition.values())
