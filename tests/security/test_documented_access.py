"""The access rules in docs/security.md, where everything else is denied: a job needs all of them to run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from millstream import Session
from millstream.delivery.delivery_error import DeliveryError
from millstream.delivery.request import DeliveryRequest
from millstream.delivery.transactional_writer import TransactionalWriter
from millstream.errors import MillstreamError
from millstream.plan.program import compile_script
from millstream.runtime.kafka.clients import KafkaClients
from millstream.runtime.kafka.exactly_once import Start, open_transactions
from millstream.runtime.kafka.preflight import check_kafka
from millstream.source import SourceText
from millstream.testing.broker import EmbeddedBroker
from millstream.testing.broker_security import BrokerSecurity, Listener
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import Message
from tests.patience import PATIENCE
from tests.runtime.topics import fresh_name
from tests.secured import MODULES, options
from tests.security.access import add_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
NEEDED = ("always", "a source has a group", "exactly-once")
"""Values of the column "where"; the others concern dead letters, missing topics and older brokers."""
SCRIPT = """
CREATE TABLE orders (id INT) WITH (
  'connector' = 'kafka', 'topic' = '{given}', 'format' = 'json', 'scan.startup.mode' = 'group-offsets',
  'properties.auto.offset.reset' = 'earliest', 'properties.group.id' = '{group}', {properties});
CREATE TABLE copies (id INT) WITH (
  'connector' = 'kafka', 'topic' = '{written}', 'format' = 'json', 'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = '{prefix}', {properties});
INSERT INTO copies SELECT id FROM orders;
"""


class Rule(NamedTuple):
    resource: ResourceType
    name: str
    pattern: ResourcePatternType
    operation: AclOperation


def documented_rules() -> list[Rule]:
    part = PAGE.read_text().partition("## What a user must be allowed")[2]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]
    resources = {"Topic": "TOPIC", "Group": "GROUP", "TransactionalId": "TRANSACTIONAL_ID", "Cluster": "BROKER"}
    operations = {"IdempotentWrite": "IDEMPOTENT_WRITE", "DescribeConfigs": "DESCRIBE_CONFIGS"}
    return [
        Rule(
            ResourceType[resources[resource]],
            name,
            ResourcePatternType[pattern.upper()],
            AclOperation[operations.get(operation, operation.upper())],
        )
        for resource, name, pattern, operation, where in rows[2:]
        if where.partition(":")[0] in NEEDED
    ]


RULES = documented_rules()
ALL = "all"
USERS = {ALL: "p", **{f"without{place}": "p" for place in range(len(RULES))}}


@dataclass(frozen=True)
class Place:
    broker: EmbeddedBroker
    given: str
    written: str
    group: str
    prefix: str

    def allow(self, user: str, rules: list[Rule]) -> None:
        names = {
            "each topic of a source": self.given,
            "each topic of a sink": self.written,
            "`properties.group.id`": self.group,
            "`sink.transactional-id-prefix` and `-`": f"{self.prefix}-",
        }
        bindings = [
            AclBinding(
                *(rule.resource, names[rule.name], rule.pattern, f"User:{user}", "*"),
                *(rule.operation, AclPermissionType.ALLOW),
            )
            for rule in rules
        ]
        add_rules(self.broker.bootstrap, bindings)

    def properties(self, user: str) -> dict[str, str]:
        module = f"org.apache.kafka.common.security.{MODULES['PLAIN']}"
        return {
            "bootstrap.servers": self.broker.secured_bootstrap(Listener.SASL_PLAINTEXT),
            "security.protocol": Listener.SASL_PLAINTEXT.protocol,
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{module} required username="{user}" password="{USERS[user]}";',
        }

    def script(self, user: str) -> str:
        names = {"given": self.given, "written": self.written, "group": self.group, "prefix": self.prefix}
        return SCRIPT.format(**names, properties=options(self.properties(user)))

    def produce(self, *ids: int) -> None:
        rows = (Message(None, b'{"id":%d}' % number) for number in ids)
        ScriptKafka(self.broker.bootstrap).produce(self.given, rows, 0)

    def written_ids(self) -> list[bytes | None]:
        return [found.message.value for found in ScriptKafka(self.broker.bootstrap).read(self.written)]


@pytest.fixture(scope="module")
def closed_broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(security=BrokerSecurity(USERS, denies_by_default=True)) as broker:
        yield broker


@pytest.fixture
def place(closed_broker: EmbeddedBroker) -> Place:
    made = Place(closed_broker, *map(fresh_name, ("given", "written", "group", "prefix")))
    for topic in (made.given, made.written):
        ScriptKafka(closed_broker.bootstrap).create_topic(topic, 1)
    return made


def test_first_start_restart_and_start_over(place: Place, spark: SparkSession, tmp_path: Path) -> None:
    place.allow(ALL, RULES)
    notices: list[str] = []

    def run(*, fresh: bool = False) -> None:
        with Session(spark, checkpoint=tmp_path, fresh=fresh, on_notice=notices.append) as session:
            [job] = session.execute_sql(place.script(ALL), drain=True)
            assert job.await_end(PATIENCE)

    place.produce(1, 2)
    run()
    place.produce(3)
    run()
    assert place.written_ids() == [b'{"id":1}', b'{"id":2}', b'{"id":3}']
    place.produce(4)
    run(fresh=True)
    assert place.written_ids()[3:] == [b'{"id":4}']  # the group has committed the others
    assert any("an earlier run has written" in notice for notice in notices)


@pytest.mark.parametrize("left_out", range(len(RULES)), ids=lambda place: "-".join(map(str, RULES[place])))
def test_each_of_them_is_needed(place: Place, left_out: int, tmp_path: Path) -> None:
    user = f"without{left_out}"
    place.allow(user, [rule for number, rule in enumerate(RULES) if number != left_out])
    place.produce(1)
    with pytest.raises((MillstreamError, DeliveryError)) as caught:
        settle_and_write(place, user, tmp_path)
    assert "authori" in str(caught.value).lower() or "not allowed" in str(caught.value).lower()


def settle_and_write(place: Place, user: str, folder: Path) -> None:
    """The requests of a job before Spark starts, and a transaction."""
    [plan] = compile_script(SourceText("s", place.script(user)), {}, {}).jobs
    check_kafka(plan, KafkaClients(), print, resumes=None)
    properties = place.properties(user)
    transactions = open_transactions(plan, folder, KafkaClients(), print, Start("us", 1))["copies"]
    request = DeliveryRequest("copies", place.written, properties, "p0", 0, transactions)
    rows = pa.RecordBatch.from_pydict({"value": pa.array([b"1"], pa.binary())})
    TransactionalWriter(properties, transactions, "p0").deliver(request, [rows])
