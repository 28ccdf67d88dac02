"""Whoever asks Kafka for a job shares its clients, as far as they log in alike."""

from __future__ import annotations

from millstream.runtime.kafka.clients import KafkaClients

NOBODY = {"bootstrap.servers": "localhost:1"}
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'PlainLoginModule required username="ann" password="p";',
}


def test_what_does_not_concern_the_connection_makes_no_other_client() -> None:
    clients = KafkaClients()
    first = clients.connect(NOBODY)
    assert clients.connect({**NOBODY, "group.id": "g", "isolation.level": "read_committed", "acks": "1"}) is first


def test_each_cluster_and_login_has_its_own() -> None:
    clients = KafkaClients()
    others = [
        {"bootstrap.servers": "localhost:2"},
        {**NOBODY, **LOGIN},
        {**NOBODY, **LOGIN, "sasl.jaas.config": LOGIN["sasl.jaas.config"].replace("ann", "bob")},
    ]
    assert len({id(clients.connect(properties)) for properties in (NOBODY, *others)}) == 4


def test_jobs_do_not_share_theirs() -> None:
    assert KafkaClients().connect(NOBODY) is not KafkaClients().connect(NOBODY)


def test_none_is_kept_after_the_end() -> None:
    clients = KafkaClients()
    before = clients.connect(NOBODY)
    clients.close()
    assert clients.connect(NOBODY) is not before
