"""Java's key stores, converted to PEM."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from millstream.connectors.kafka.client_settings import client_settings
from millstream.connectors.kafka.key_stores import UnreadableStoreError
from millstream.connectors.kafka.producer_settings import producer_settings
from millstream.jvm.java import find_java
from millstream.jvm.key_stores import KeyStore, KeyStoreError, certificates_in, key_pair_in
from millstream.testing.certificates import PASSWORD

if TYPE_CHECKING:
    from pathlib import Path

    from tests.secured import SecuredBroker

PBES2_KEY = """-----BEGIN ENCRYPTED PRIVATE KEY-----
MIG6MGYGCSqGSIb3DQEFDTBZMDgGCSqGSIb3DQEFDDArBBQn4LOfaExGnA5UBfLN
BsCns/hm5gICJxACASAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEECQ3XVaD
-----END ENCRYPTED PRIVATE KEY-----
"""


def test_both_forms_hold_the_same(secured_broker: SecuredBroker) -> None:
    found = secured_broker.certificates
    of_jks = certificates_in(KeyStore(found.trusted_jks, PASSWORD))
    assert of_jks == certificates_in(KeyStore(found.trusted, PASSWORD))
    assert of_jks == certificates_in(KeyStore(found.trusted_jks, None))
    assert of_jks.count("BEGIN CERTIFICATE") == 1
    assert key_pair_in(KeyStore(found.client, PASSWORD)).chain.count("BEGIN CERTIFICATE") == 2


def test_a_key_may_have_a_password_of_its_own(secured_broker: SecuredBroker, tmp_path: Path) -> None:
    copy = tmp_path / "client.jks"
    copy.write_bytes(secured_broker.certificates.client_jks.read_bytes())
    change: list[str | Path] = [
        "-keypasswd",
        "-alias",
        "client",
        "-keypass",
        PASSWORD,
        "-new",
        "another-one",
        "-keystore",
        copy,
    ]
    keytool = find_java().executable.with_name("keytool")
    subprocess.run([keytool, *change, "-storepass", PASSWORD], check=True, capture_output=True)
    store = {"ssl.keystore.location": str(copy), "ssl.keystore.password": PASSWORD, "ssl.key.password": "another-one"}
    settings = client_settings({"bootstrap.servers": "localhost:1", "security.protocol": "SSL", **store})
    AdminClient(settings)  # accepts the key with its new password
    assert "another-one" not in settings.values()


def test_a_producer_has_the_same_stores(secured_broker: SecuredBroker) -> None:
    store = {
        "ssl.truststore.location": str(secured_broker.certificates.trusted_jks),
        "ssl.truststore.password": PASSWORD,
    }
    properties = {"bootstrap.servers": "localhost:1", "security.protocol": "SSL", **store}
    settings = producer_settings(properties, transactional=True)
    assert settings["ssl.ca.pem"] == client_settings(properties)["ssl.ca.pem"]
    Producer({**settings, "transactional.id": "x"})


def test_what_is_wrong_is_said_without_the_password(secured_broker: SecuredBroker, tmp_path: Path) -> None:
    found = secured_broker.certificates
    for store in (
        KeyStore(found.trusted, "not-the-one"),
        KeyStore(found.trusted, None),
        KeyStore(tmp_path / "none.jks", "not-the-one"),
    ):
        with pytest.raises(KeyStoreError) as caught:
            certificates_in(store)
        assert str(caught.value)
        assert "not-the-one" not in f"{caught.value} {store}"
    with pytest.raises(KeyStoreError, match="no private key"):
        key_pair_in(KeyStore(found.trusted, PASSWORD))


@pytest.mark.parametrize("in_a_file", [True, False])
def test_a_key_that_java_could_not_read_is_refused(tmp_path: Path, in_a_file: bool) -> None:  # noqa: FBT001
    file = tmp_path / "key.pem"
    file.write_text(PBES2_KEY)
    key = {"ssl.keystore.location": str(file)} if in_a_file else {"ssl.keystore.key": PBES2_KEY}
    with pytest.raises(UnreadableStoreError, match="PBES2"):
        client_settings({"bootstrap.servers": "b:1", "security.protocol": "SSL", "ssl.keystore.type": "PEM", **key})
