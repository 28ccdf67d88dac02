"""How the properties of Java's clients are told to the C client."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient

from millstream.connectors.kafka.client import client_properties, javas_store, untranslatable
from millstream.connectors.kafka.spark_options import reader_options
from tests.declaring import KAFKA, declare, source

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="s3 \\"c;ret";'
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN}

OIDC = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "https://id/token",
    "sasl.login.callback.handler.class": HANDLER,
    "sasl.jaas.config": 'x.OAuthBearerLoginModule required clientId="me" clientSecret="s;1" scope="kafka read" '
    'extension_logicalCluster="lkc-1" extension_identityPoolId="pool";',
}


def test_a_plain_connection_is_told_little() -> None:
    properties = {"bootstrap.servers": "b:1", "group.id": "g", "sasl.jaas.config": PLAIN, "ssl.keystore.location": "x"}
    assert client_properties(properties) == {"bootstrap.servers": "b:1"}
    assert list(untranslatable(properties)) == []


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "scram-sha-512"])
def test_user_and_password_stand_in_the_login_module(mechanism: str) -> None:
    properties = {**SASL, "sasl.mechanism": mechanism}
    assert list(untranslatable(properties)) == []
    assert client_properties(properties) == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "ann",
        "sasl.password": 's3 "c;ret',
    }


def test_the_login_module_may_have_no_quotes() -> None:
    found = client_properties({**SASL, "sasl.jaas.config": "x.Module required username=ann password='p w';"})
    assert (found["sasl.username"], found["sasl.password"]) == ("ann", "p w")


def test_certificates_in_files_and_in_place() -> None:
    properties = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/own.pem",
        "ssl.key.password": "k",
        "ssl.endpoint.identification.algorithm": "",
    }
    assert list(untranslatable(properties)) == []
    assert client_properties(properties) == {
        "security.protocol": "SSL",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/own.pem",
        "ssl.key.location": "/own.pem",
        "ssl.key.password": "k",
        "ssl.endpoint.identification.algorithm": "none",
    }
    inline = {"security.protocol": "SSL", "ssl.truststore.certificates": "-----BEGIN"}
    assert client_properties(inline)["ssl.ca.pem"] == "-----BEGIN"


@pytest.mark.parametrize("kind", [{}, {"ssl.truststore.type": "jks"}, {"ssl.truststore.type": "PKCS12"}])
def test_a_store_of_java_is_known_by_its_type(kind: dict[str, str]) -> None:
    properties = {"security.protocol": "SSL", "ssl.truststore.location": "/trust", **kind}
    assert javas_store(properties, "truststore") == "/trust"
    assert javas_store(properties, "keystore") is None
    assert javas_store({**properties, "ssl.truststore.type": "PEM"}, "truststore") is None
    assert javas_store({**properties, "security.protocol": "SASL_PLAINTEXT"}, "truststore") is None


def test_tokens_of_an_endpoint() -> None:
    assert list(untranslatable(OIDC)) == []
    assert client_properties(OIDC) == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://id/token",
        "sasl.oauthbearer.client.id": "me",
        "sasl.oauthbearer.client.secret": "s;1",
        "sasl.oauthbearer.scope": "kafka read",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=pool",
    }


def test_tokens_that_nobody_signs() -> None:
    jaas = 'x.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="ann" unsecuredLoginLifetimeSeconds="60";'
    found = client_properties({**SASL, "sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": jaas})
    assert found["sasl.oauthbearer.config"] == "principal=ann lifeSeconds=60"


@pytest.mark.parametrize("properties", [SASL, OIDC], ids=["password", "token"])
def test_the_client_takes_what_it_is_told(properties: dict[str, str]) -> None:
    AdminClient({**client_properties(properties), "bootstrap.servers": "localhost:1", "log_level": 0})


@pytest.mark.parametrize(
    ("properties", "key", "hint"),
    [
        ({**SASL, "sasl.jaas.config": "x required;"}, "sasl.jaas.config", "PLAIN"),
        ({"security.protocol": "SASL_SSL"}, "security.protocol", "Kerberos"),
        ({**SASL, "sasl.mechanism": "GSSAPI"}, "sasl.mechanism", "Kerberos"),
        ({**SASL, "sasl.mechanism": "AWS_MSK_IAM"}, "sasl.mechanism", "9096"),
        ({**SASL, "sasl.mechanism": "OAUTHBEARER"}, "sasl.jaas.config", "clientSecret"),
        (
            {key: value for key, value in OIDC.items() if "handler" not in key},
            "sasl.oauthbearer.token.endpoint.url",
            HANDLER,
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.location": "/k", "ssl.keystore.type": "PKCS11"},
            "ssl.keystore.type",
            "PEM",
        ),
    ],
)
def test_what_cannot_be_told_is_named(properties: dict[str, str], key: str, hint: str) -> None:
    [found] = untranslatable(properties)
    assert found.key == key
    assert hint in found.hint


@pytest.mark.parametrize("bundle", ["org.apache.flink.kafka.shaded.", "kafkashaded."])
def test_names_of_a_bundled_client(bundle: str) -> None:
    table = declare({**KAFKA, "properties.sasl.jaas.config": f"{bundle}{PLAIN}"})
    found = source(table)
    assert reader_options(found.properties)["kafka.sasl.jaas.config"] == PLAIN
    [notice] = [notice for notice in found.notices if "bundled" in notice.text]
    assert "s3" not in notice.text


def test_java_gets_all_of_it_by_kafkas_own_class_names() -> None:
    properties = {**SASL, "sasl.jaas.config": f"org.apache.flink.kafka.shaded.{PLAIN}", "group.id": "g"}
    options = reader_options(properties)
    assert options["kafka.sasl.jaas.config"] == PLAIN
    assert options["kafka.security.protocol"] == "SASL_PLAINTEXT"
    assert "kafka.group.id" not in options
