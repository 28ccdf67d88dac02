"""A broker that requires authentication, and the properties for each of its listeners."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from millstream.testing.certificates import PASSWORD

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.testing.broker import EmbeddedBroker
    from millstream.testing.broker_security import Listener
    from millstream.testing.certificates import Certificates

USER = "ann"
USERS = {USER: "opensesame-4711", "bob": "quiet-as-a-mouse", "leaver": "gone-tomorrow"}
MODULES = {
    "PLAIN": "plain.PlainLoginModule",
    "SCRAM-SHA-256": "scram.ScramLoginModule",
    "SCRAM-SHA-512": "scram.ScramLoginModule",
    "OAUTHBEARER": "oauthbearer.OAuthBearerLoginModule",
}


@dataclass(frozen=True)
class SecuredBroker:
    broker: EmbeddedBroker
    certificates: Certificates
    folder: Path

    @property
    def bootstrap(self) -> str:
        """The listener without access control."""
        return self.broker.bootstrap

    def at(self, listener: Listener, *parts: dict[str, str]) -> dict[str, str]:
        """A table's properties for a listener."""
        found = {"bootstrap.servers": self.broker.secured_bootstrap(listener), "security.protocol": listener.protocol}
        for part in parts:
            found |= part
        return found

    @cached_property
    def truststores(self) -> dict[str, dict[str, str]]:
        """The same authority, in every form."""
        pem = self.folder / "trusted.pem"
        pem.write_text(self.certificates.trusted_pem)
        password = {"ssl.truststore.password": PASSWORD}
        return {
            "jks": {"ssl.truststore.location": str(self.certificates.trusted_jks), **password},
            "jks without password": {"ssl.truststore.location": str(self.certificates.trusted_jks)},
            "pkcs12": {
                "ssl.truststore.location": str(self.certificates.trusted),
                "ssl.truststore.type": "PKCS12",
                **password,
            },
            "pem file": {"ssl.truststore.location": str(pem), "ssl.truststore.type": "PEM"},
            "pem": {"ssl.truststore.certificates": self.certificates.trusted_pem, "ssl.truststore.type": "PEM"},
        }

    @cached_property
    def keystores(self) -> dict[str, dict[str, str]]:
        """The client's own certificate and key, in every form."""
        pair = self.certificates.client_pem
        pem = self.folder / "client.pem"
        pem.write_text(pair.key + pair.chain)
        password = {"ssl.keystore.password": PASSWORD}
        of_key = {"ssl.keystore.type": "PEM", "ssl.key.password": pair.password}
        return {
            "jks": {"ssl.keystore.location": str(self.certificates.client_jks), **password},
            "pkcs12": {
                "ssl.keystore.location": str(self.certificates.client),
                "ssl.keystore.type": "PKCS12",
                **password,
            },
            "pem file": {"ssl.keystore.location": str(pem), **of_key},
            "pem": {"ssl.keystore.certificate.chain": pair.chain, "ssl.keystore.key": pair.key, **of_key},
        }


def login(mechanism: str, user: str = USER, password: str | None = None) -> dict[str, str]:
    settings = f'username="{user}" password="{password or USERS[user]}"'
    if mechanism == "OAUTHBEARER":
        settings = f'unsecuredLoginStringClaim_sub="{user}"'
    module = f"org.apache.kafka.common.security.{MODULES[mechanism]}"
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": f"{module} required {settings};"}


def options(properties: dict[str, str]) -> str:
    """As in a WITH clause."""
    quoted = ((key, value.replace("'", "''")) for key, value in properties.items())
    return ",\n  ".join(f"'properties.{key}' = '{value}'" for key, value in quoted)
