"""Errors of Kafka and of running jobs, on a real broker and a real Spark. One screen per test."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream import Session
from millstream.errors import Code
from millstream.runtime.kafka import admin as kafka_admin
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.runtime.kafka.client_errors import Question, broker_error
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.golden.conftest import run_call, run_command, screen
from tests.patience import PATIENCE
from tests.runtime.topics import delete_before, fresh_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tests.golden.conftest import Screen

TOTALS = (Path(__file__).parent / "screens" / "totals.sql").read_text()
COPIES = TOTALS.replace("SUM(amount) FROM orders GROUP BY customer", "amount FROM orders")
"""Faster than sums, for tests that do not depend on them."""
EXACTLY_ONCE = COPIES.replace(
    "'value.format' = 'json'",
    "'value.format' = 'json',\n  'sink.delivery-guarantee' = 'exactly-once',"
    "\n  'sink.transactional-id-prefix' = '${totals}'",
)


@dataclass(frozen=True)
class Case:
    """A script in a folder, with topics of its own."""

    folder: Path
    brokers: str
    orders: str
    totals: str

    @property
    def names(self) -> dict[str, str]:
        return {"localhost:9092": self.brokers, "orders": self.orders, "totals": self.totals}

    @property
    def parameters(self) -> dict[str, str]:
        return {"brokers": self.brokers, "orders": self.orders, "totals": self.totals}

    def create_topics(self) -> None:
        for topic in (self.orders, self.totals):
            self.create_topic(topic)

    def create_topic(self, topic: str) -> None:
        KafkaAdmin({"bootstrap.servers": self.brokers}).ensure_topic(topic, topic)

    def produce(self, *values: str) -> None:
        """Into partition 0, so that offsets are the same in every run."""
        messages = [Message(None, value.encode()) for value in values]
        ScriptKafka(self.brokers).produce(self.orders, messages, partition=0)

    def drain(self, spark: SparkSession, script: str = COPIES) -> None:
        with Session(spark, checkpoint=self.folder / ".millstream" / "totals") as session:
            session.execute_sql(script, name="totals.sql", parameters=self.parameters, drain=True)[0].await_end(
                PATIENCE
            )

    def command(self, script: str = TOTALS) -> tuple[str, ...]:
        (self.folder / "totals.sql").write_text(script)
        return ("run", "totals.sql", "--drain", *(f"--param={key}={value}" for key, value in self.parameters.items()))


@pytest.fixture
def case(broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.chdir(tmp_path)
    return Case(tmp_path, broker, fresh_name("orders"), fresh_name("totals"))


@pytest.fixture
def expect(case: Case, expect_screen: Callable[..., None]) -> Callable[[Screen], None]:
    return lambda shown: expect_screen(shown, **case.names)


def test_broker_unreachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expect_screen: Callable[..., None]
) -> None:
    monkeypatch.setattr(kafka_admin, "_TIMEOUT_SECONDS", 1.0)
    monkeypatch.chdir(tmp_path)
    expect_screen(run_command(*Case(tmp_path, "localhost:1", "orders", "totals").command()))


def test_broker_refused(expect_screen: Callable[..., None]) -> None:
    refused = KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    servers = {"bootstrap.servers": "localhost:9092"}
    question = Question('the offsets of group "reports" cannot be read', Code.OFFSETS_UNAVAILABLE, servers)
    expect_screen(run_call(lambda: _raise(broker_error(refused, question))))


def test_topic_missing(case: Case, expect: Callable[[Screen], None]) -> None:
    script = TOTALS.replace(
        "'format' = 'json'", "'format' = 'json',\n  'properties.allow.auto.create.topics' = 'false'"
    )
    expect(run_command(*case.command(script)))


def test_topic_not_created(case: Case, expect: Callable[[Screen], None]) -> None:
    case.create_topic("orders_of_today")  # Kafka rejects a second name that differs only in this
    expect(run_command(*case.command(TOTALS.replace("'${orders}'", "'orders.of.today'"))))


def test_offsets_unavailable(case: Case, expect: Callable[[Screen], None]) -> None:
    script = TOTALS.replace("'earliest-offset'", "'group-offsets',\n  'properties.group.id' = 'reports'")
    case.create_topics()
    expect(run_command(*case.command(script)))


def test_spark_already_running(case: Case, spark: SparkSession, expect: Callable[[Screen], None]) -> None:
    case.create_topics()
    expect(run_call(lambda: _run(Session(checkpoint="checkpoint"), case)))


def test_spark_session_incomplete(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, expect_screen: Callable[..., None]
) -> None:
    from millstream.spark import session

    names = {f"{name}OfAnotherJar": artifact for name, artifact in session._NEEDED_CLASSES.items()}
    monkeypatch.setattr(session, "_NEEDED_CLASSES", names)
    expect_screen(run_call(lambda: session.adopt_session(spark, None)))


def test_spark_not_started(case: Case, expect: Callable[[Screen], None]) -> None:
    case.create_topics()
    command = [sys.executable, "-m", "millstream.cli.main", *case.command(), "--set", "spark.driver.memory=plenty"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=case.folder, check=False)
    expect(screen(ended.stderr, ended.returncode))


def test_undecodable_message(case: Case, spark: SparkSession, expect: Callable[[Screen], None]) -> None:
    case.create_topics()
    case.produce('{"customer": "ada", "amount": 3}', '{"customer": "bob", "amount": "three"}')
    expect(run_call(lambda: case.drain(spark)))


def test_null_in_key(case: Case, spark: SparkSession, expect: Callable[[Screen], None]) -> None:
    case.create_topics()
    case.produce('{"customer": null, "amount": 3}')
    expect(run_call(lambda: case.drain(spark)))


def test_unwritable_row(case: Case, spark: SparkSession, expect: Callable[[Screen], None]) -> None:
    script = (
        COPIES.replace("'${totals}'", "'${totals};${totals}-more'")
        .replace("  total BIGINT,", "  total BIGINT,\n  topic STRING METADATA,")
        .replace(" amount FROM", " amount, 'elsewhere' FROM")
    )
    case.create_topics()
    case.produce('{"customer": "ada", "amount": 3}')
    expect(run_call(lambda: case.drain(spark, script)))


def test_expression_failed(case: Case, spark: SparkSession, expect: Callable[[Screen], None]) -> None:
    case.create_topics()
    case.produce('{"customer": "ada", "quantity": "a dozen"}')
    expect(run_call(lambda: case.drain(spark, COPIES.replace(" amount FROM", " CAST(quantity AS INT) FROM"))))


def test_job_failed(case: Case, spark: SparkSession, expect: Callable[[Screen], None]) -> None:
    case.create_topics()
    case.produce(f'{{"customer": "{"x" * 600_000}", "amount": 3}}')
    expect(run_call(lambda: case.drain(spark)))


def test_messages_gone(case: Case, spark: SparkSession, expect: Callable[[Screen], None]) -> None:
    case.create_topics()
    case.produce('{"customer": "ada", "amount": 3}')
    case.drain(spark)
    case.produce(*['{"customer": "ada", "amount": 3}'] * 4)
    delete_before(case.brokers, case.orders, 3)
    expect(run_call(lambda: case.drain(spark)))


def test_taken_over(case: Case, spark: SparkSession, expect: Callable[[Screen], None]) -> None:
    case.create_topics()
    case.produce('{"customer": "ada", "amount": 3}')
    with Session(spark, checkpoint=case.folder / "first") as session:
        [first] = session.execute_sql(EXACTLY_ONCE, name="totals.sql", parameters=case.parameters)
        first.await_caught_up(PATIENCE)
        case.drain(spark, EXACTLY_ONCE)  # from another checkpoint, with the same prefix
        case.produce('{"customer": "bob", "amount": 3}')
        shown = run_call(lambda: first.await_end(PATIENCE))
    expect(shown)


def test_delivery_uncertain(case: Case, spark: SparkSession, expect: Callable[[Screen], None]) -> None:
    case.create_topics()
    case.produce('{"customer": "ada", "amount": 3}')
    case.drain(spark, EXACTLY_ONCE)
    checkpoint = case.folder / ".millstream" / "totals" / "jobs" / "totals"
    for file in (checkpoint / "commits").iterdir():
        file.unlink()
    begun = checkpoint / "offsets" / "0"
    nine_days_ago = f'"batchTimestampMs":{int(time.time() - 9 * 86_400) * 1000}'
    begun.write_text(re.sub(r'"batchTimestampMs":\d+', nine_days_ago, begun.read_text()))
    (checkpoint / "offsets" / ".0.crc").unlink()
    expect(run_call(lambda: case.drain(spark, EXACTLY_ONCE)))


def test_transaction_too_long(case: Case, expect: Callable[[Screen], None]) -> None:
    an_hour = "'exactly-once',\n  'properties.transaction.timeout.ms' = '3600000',"
    script = EXACTLY_ONCE.replace("'exactly-once',", an_hour)
    expect(run_command(*case.command(script)))


def _run(session: Session, case: Case) -> None:
    with session:
        session.execute_sql(TOTALS, name="totals.sql", parameters=case.parameters)


def _raise(error: Exception) -> None:
    raise error
