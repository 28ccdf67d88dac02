"""Errors about connections between Kafka and a table, on a real broker. One screen per test."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]

from millstream.runtime.kafka import admin as kafka_admin
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.broker_security import Listener
from tests.golden.conftest import run_command
from tests.secured import USERS, login
from tests.security.access import allow
from tests.security.token_endpoint import TokenEndpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.secured import SecuredBroker

SECRET = "not-the-password"
SCRIPT = """\
CREATE TABLE orders (customer STRING, amount BIGINT) WITH (
  'connector' = 'kafka',
  'topic' = '{topic}',
  'format' = 'json',
  'scan.startup.mode' = 'earliest-offset',
{properties}
);
CREATE TABLE seen WITH ('connector' = 'blackhole') LIKE orders (EXCLUDING OPTIONS);
INSERT INTO seen SELECT * FROM orders;
"""


@pytest.fixture
def expect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expect_screen: Callable[..., None]) -> Callable[..., None]:
    """Runs a script with these properties; the screen shows the same port for every listener."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kafka_admin, "_TIMEOUT_SECONDS", 3.0)

    def compare(properties: dict[str, str], topic: str = "orders", **names: str) -> None:
        lines = (f"  'properties.{key}' = '{value}'" for key, value in properties.items())
        script = SCRIPT.format(topic=topic, properties=",\n".join(lines))
        Path("orders.sql").write_text(script)
        shown = run_command("run", "orders.sql", "--drain")
        assert not any(secret in shown.text for secret in (SECRET, *USERS.values()))
        port = properties["bootstrap.servers"].partition(":")[2]
        expect_screen(shown, **{"9093": port, **names})

    return compare


def test_password_not_accepted(secured_broker: SecuredBroker, expect: Callable[..., None]) -> None:
    credentials = login("SCRAM-SHA-256", password=SECRET)
    expect(secured_broker.at(Listener.SASL_SSL, secured_broker.truststores["pkcs12"], credentials))


def test_token_not_given(secured_broker: SecuredBroker, expect: Callable[..., None]) -> None:
    with TokenEndpoint("reporting", "s3cret") as endpoint:
        port = endpoint.url.split(":")[2].partition("/")[0]
        expect(secured_broker.at(Listener.SASL_PLAINTEXT, endpoint.login("reporting", SECRET)), **{"8080": port})


def test_broker_speaks_tls(secured_broker: SecuredBroker, expect: Callable[..., None]) -> None:
    expect(secured_broker.at(Listener.SSL, {"security.protocol": "PLAINTEXT"}))


def test_broker_speaks_no_tls(secured_broker: SecuredBroker, expect: Callable[..., None]) -> None:
    expect(secured_broker.at(Listener.SSL, {"bootstrap.servers": secured_broker.bootstrap}))


def test_broker_asks_for_a_login(secured_broker: SecuredBroker, expect: Callable[..., None]) -> None:
    expect(secured_broker.at(Listener.SASL_SSL, {"security.protocol": "SSL"}, secured_broker.truststores["pkcs12"]))


def test_broker_asks_for_no_login(secured_broker: SecuredBroker, expect: Callable[..., None]) -> None:
    expect(secured_broker.at(Listener.SASL_PLAINTEXT, {"bootstrap.servers": secured_broker.bootstrap}, login("PLAIN")))


def test_certificate_not_trusted(secured_broker: SecuredBroker, expect: Callable[..., None]) -> None:
    expect(secured_broker.at(Listener.SSL))


def test_certificate_of_another_host(secured_broker: SecuredBroker, expect: Callable[..., None]) -> None:
    elsewhere = secured_broker.at(Listener.SSL)["bootstrap.servers"].replace("127.0.0.1", "localhost")
    expect(secured_broker.at(Listener.SSL, {"bootstrap.servers": elsewhere}, secured_broker.truststores["pkcs12"]))


def test_certificate_of_the_client_missing(secured_broker: SecuredBroker, expect: Callable[..., None]) -> None:
    expect(secured_broker.at(Listener.MUTUAL_TLS, secured_broker.truststores["pkcs12"]))


def test_truststore_unreadable(secured_broker: SecuredBroker, expect: Callable[..., None]) -> None:
    shutil.copy(secured_broker.certificates.trusted_jks, "trusted.jks")
    store = {"ssl.truststore.location": "trusted.jks", "ssl.truststore.password": SECRET}
    expect(secured_broker.at(Listener.SSL, store))


def test_topic_not_allowed(secured_broker: SecuredBroker, expect: Callable[..., None]) -> None:
    KafkaAdmin({"bootstrap.servers": secured_broker.bootstrap}).ensure_topic("salaries", "orders")
    allow(secured_broker.bootstrap, "salaries", "bob", AclOperation.ALL)
    expect(secured_broker.at(Listener.SASL_PLAINTEXT, login("PLAIN")), "salaries")
