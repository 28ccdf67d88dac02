"""What users may do, as a broker reports it before a job starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]

from millstream.errors import BrokerError, Code
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.broker_security import Listener
from tests.runtime.topics import fresh_name
from tests.secured import login
from tests.security.access import allow, forget

if TYPE_CHECKING:
    from tests.secured import SecuredBroker


@pytest.fixture
def topic(secured_broker: SecuredBroker) -> str:
    made = fresh_name("topic")
    KafkaAdmin({"bootstrap.servers": secured_broker.bootstrap}).ensure_topic(made, "t")
    return made


def admin_of(secured_broker: SecuredBroker, user: str, mechanism: str = "PLAIN") -> KafkaAdmin:
    return KafkaAdmin(secured_broker.at(Listener.SASL_PLAINTEXT, login(mechanism, user)))


def test_everyone_may_do_what_no_rule_speaks_of(secured_broker: SecuredBroker, topic: str) -> None:
    admin_of(secured_broker, "ann").require_readable(topic, "t")
    admin_of(secured_broker, "ann").require_writable(topic, "t")
    admin_of(secured_broker, "ann").require_writable(fresh_name("missing"), "t")


def test_a_reader_may_not_write(secured_broker: SecuredBroker, topic: str) -> None:
    allow(secured_broker.bootstrap, topic, "bob", AclOperation.READ)
    admin_of(secured_broker, "bob").require_readable(topic, "t")
    with pytest.raises(BrokerError) as caught:
        admin_of(secured_broker, "bob").require_writable(topic, "t")
    assert caught.value.code is Code.BROKER_REFUSED
    assert "written" in caught.value.diagnostics[0].primary


def test_a_topic_that_may_not_be_seen_is_not_called_missing(secured_broker: SecuredBroker, topic: str) -> None:
    allow(secured_broker.bootstrap, topic, "bob", AclOperation.WRITE)
    assert admin_of(secured_broker, "ann").partitions(topic) is None
    with pytest.raises(BrokerError) as caught:
        admin_of(secured_broker, "ann").require_readable(topic, "t")
    assert caught.value.code is Code.BROKER_REFUSED


def test_a_user_who_was_removed(secured_broker: SecuredBroker) -> None:
    mechanism = "SCRAM-SHA-256"
    assert admin_of(secured_broker, "leaver", mechanism).partitions("none") is None
    forget(secured_broker.bootstrap, "leaver")
    with pytest.raises(BrokerError) as caught:
        admin_of(secured_broker, "leaver", mechanism).partitions("none")
    assert caught.value.code is Code.BROKER_REFUSED
