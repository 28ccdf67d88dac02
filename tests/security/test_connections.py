"""Every protocol, and every form of key material: the C client connects to a real broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millstream.connectors.kafka.client import untranslatable
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.broker_security import Listener
from tests.runtime.topics import fresh_name
from tests.secured import login
from tests.security.token_endpoint import TokenEndpoint

if TYPE_CHECKING:
    from tests.secured import SecuredBroker

TRUSTSTORES = ("jks", "jks without password", "pkcs12", "pem file", "pem")
KEYSTORES = ("jks", "pkcs12", "pem file", "pem")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


def assert_answers(properties: dict[str, str]) -> None:
    """Makes the same requests about topics and groups as a job."""
    assert list(untranslatable(properties)) == []
    admin, topic = KafkaAdmin(properties), fresh_name("topic")
    assert admin.ensure_topic(topic, "t")
    assert set(admin.latest([topic]).values()) == {0}
    assert admin.committed([topic], "readers") == {}


@pytest.mark.parametrize("truststore", TRUSTSTORES)
def test_tls(secured_broker: SecuredBroker, truststore: str) -> None:
    assert_answers(secured_broker.at(Listener.SSL, secured_broker.truststores[truststore]))


@pytest.mark.parametrize("keystore", KEYSTORES)
def test_mutual_tls(secured_broker: SecuredBroker, keystore: str) -> None:
    assert_answers(
        secured_broker.at(Listener.MUTUAL_TLS, secured_broker.truststores["pkcs12"], secured_broker.keystores[keystore])
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("listener", [Listener.SASL_PLAINTEXT, Listener.SASL_SSL])
def test_login(secured_broker: SecuredBroker, listener: Listener, mechanism: str) -> None:
    truststore = secured_broker.truststores["jks"] if listener.is_encrypted else {}
    assert_answers(secured_broker.at(listener, truststore, login(mechanism)))


def test_names_of_a_bundled_client(secured_broker: SecuredBroker) -> None:
    properties = login("SCRAM-SHA-512")
    shaded = {**properties, "sasl.jaas.config": f"org.apache.flink.kafka.shaded.{properties['sasl.jaas.config']}"}
    assert_answers(secured_broker.at(Listener.SASL_PLAINTEXT, shaded))


def test_tokens_of_an_endpoint(secured_broker: SecuredBroker) -> None:
    with TokenEndpoint("reporting", "s3cret") as endpoint:
        assert_answers(secured_broker.at(Listener.SASL_PLAINTEXT, endpoint.login("reporting", "s3cret")))
        assert set(endpoint.scopes) == {"kafka"}, "each client asks for a token of its own"


def test_another_host_where_the_check_is_waived(secured_broker: SecuredBroker) -> None:
    properties = secured_broker.at(
        Listener.SSL, secured_broker.truststores["pem"], {"ssl.endpoint.identification.algorithm": ""}
    )
    servers = properties["bootstrap.servers"].replace("127.0.0.1", "localhost")
    assert_answers({**properties, "bootstrap.servers": servers})
