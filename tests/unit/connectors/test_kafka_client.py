"""How the properties of Java's clients are told to the C client."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient

from millstream.connectors.kafka_client import client_properties, untranslatable
from millstream.spark.kafka_properties import reader_options

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="s3 \\"c;ret";'
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN}


def test_a_plain_connection_is_told_little() -> None:
    given = {"bootstrap.servers": "b:1", "group.id": "g", "sasl.jaas.config": PLAIN, "ssl.keystore.location": "x"}
    assert client_properties(given) == {"bootstrap.servers": "b:1"}
    assert list(untranslatable(given)) == []


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "scram-sha-512"])
def test_user_and_password_stand_in_the_login_module(mechanism: str) -> None:
    given = {**SASL, "sasl.mechanism": mechanism}
    assert list(untranslatable(given)) == []
    assert client_properties(given) == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "ann",
        "sasl.password": 's3 "c;ret',
    }


def test_the_login_module_may_have_no_quotes() -> None:
    found = client_properties({**SASL, "sasl.jaas.config": "x.Module required username=ann password='p w';"})
    assert (found["sasl.username"], found["sasl.password"]) == ("ann", "p w")


def test_certificates_in_files_and_in_place() -> None:
    given = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/own.pem",
        "ssl.key.password": "k",
        "ssl.endpoint.identification.algorithm": "",
    }
    assert list(untranslatable(given)) == []
    assert client_properties(given) == {
        "security.protocol": "SSL",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/own.pem",
        "ssl.key.location": "/own.pem",
        "ssl.key.password": "k",
        "ssl.endpoint.identification.algorithm": "none",
    }
    inline = {"security.protocol": "SSL", "ssl.truststore.certificates": "-----BEGIN"}
    assert client_properties(inline)["ssl.ca.pem"] == "-----BEGIN"


def test_a_key_store_of_pkcs12() -> None:
    given = {"security.protocol": "SSL", "ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/own.p12"}
    found = client_properties({**given, "ssl.keystore.password": "k"})
    assert (found["ssl.keystore.location"], found["ssl.keystore.password"]) == ("/own.p12", "k")
    assert "ssl.certificate.location" not in found


def test_the_client_takes_what_it_is_told() -> None:
    AdminClient({**client_properties(SASL), "bootstrap.servers": "localhost:1", "log_level": 0})


def test_what_cannot_be_told_is_named() -> None:
    given = {**SASL, "security.protocol": "SASL_SSL", "sasl.jaas.config": "x required;", "ssl.keystore.location": "/k"}
    assert [found.key for found in untranslatable(given)] == ["sasl.jaas.config", "ssl.keystore.location"]


def test_java_gets_all_of_it_by_kafkas_own_class_names() -> None:
    given = {**SASL, "sasl.jaas.config": f"org.apache.flink.kafka.shaded.{PLAIN}", "group.id": "g"}
    options = reader_options(given)
    assert options["kafka.sasl.jaas.config"] == PLAIN
    assert options["kafka.security.protocol"] == "SASL_PLAINTEXT"
    assert "kafka.group.id" not in options
