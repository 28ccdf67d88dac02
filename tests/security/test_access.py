"""Who may do what, as a broker says it before a job starts."""

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
def topic(secured: SecuredBroker) -> str:
    made = fresh_name("topic")
    KafkaAdmin({"bootstrap.servers": secured.bootstrap}).ensure_topic(made, "t")
    return made


def of(secured: SecuredBroker, user: str, mechanism: str = "PLAIN") -> KafkaAdmin:
    return KafkaAdmin(secured.at(Listener.SASL_PLAINTEXT, login(mechanism, user)))


def test_everyone_may_do_what_no_rule_speaks_of(secured: SecuredBroker, topic: str) -> None:
    of(secured, "ann").require_readable(topic, "t")
    of(secured, "ann").require_writable(topic, "t")
    of(secured, "ann").require_writable(fresh_name("missing"), "t")


def test_a_reader_may_not_write(secured: SecuredBroker, topic: str) -> None:
    allow(secured.bootstrap, topic, "bob", AclOperation.READ)
    of(secured, "bob").require_readable(topic, "t")
    with pytest.raises(BrokerError) as caught:
        of(secured, "bob").require_writable(topic, "t")
    assert caught.value.code is Code.BROKER_REFUSED
    assert "written" in caught.value.diagnostics[0].primary


def test_a_topic_that_may_not_be_seen_is_not_called_missing(secured: SecuredBroker, topic: str) -> None:
    allow(secured.bootstrap, topic, "bob", AclOperation.WRITE)
    assert of(secured, "ann").partitions(topic) is None
    with pytest.raises(BrokerError) as caught:
        of(secured, "ann").require_readable(topic, "t")
    assert caught.value.code is Code.BROKER_REFUSED


def test_a_user_who_was_removed(secured: SecuredBroker) -> None:
    mechanism = "SCRAM-SHA-256"
    assert of(secured, "leaver", mechanism).partitions("none") is None
    forget(secured.bootstrap, "leaver")
    with pytest.raises(BrokerError) as caught:
        of(secured, "leaver", mechanism).partitions("none")
    assert caught.value.code is Code.BROKER_REFUSED
