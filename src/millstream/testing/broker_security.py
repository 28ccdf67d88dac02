"""The security of a broker: listeners for each protocol, users, access rules."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from millstream.testing.certificates import PASSWORD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from millstream.testing.certificates import Certificates

_MODULES: Final = {
    "SCRAM-SHA-256": "scram.ScramLoginModule required;",
    "SCRAM-SHA-512": "scram.ScramLoginModule required;",
    # Accepts tokens without a signature.
    "OAUTHBEARER": 'oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";',
}
_BROKER_KEYS: Final = "broker.p12"
_TRUSTED: Final = "trusted.p12"


class Listener(StrEnum):
    """A listener of a secured broker, by what it requires."""

    SSL = "SSL"
    MUTUAL_TLS = "MUTUAL_TLS"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def protocol(self) -> str:
        """As clients name it."""
        return "SSL" if self is Listener.MUTUAL_TLS else self.value

    @property
    def is_encrypted(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def needs_login(self) -> bool:
        return self.protocol.startswith("SASL")


@dataclass(frozen=True, slots=True)
class BrokerSecurity:
    """`users` are passwords by name, for PLAIN and SCRAM; without `certificates` nothing is encrypted.

    A resource with access rules is only for the users that they allow; any other is for everybody, or for nobody with
    `denies_by_default`. Clients that need not log in may do anything.
    """

    users: Mapping[str, str] = field(repr=False)
    certificates: Certificates | None = None
    denies_by_default: bool = False

    @property
    def listeners(self) -> tuple[Listener, ...]:
        return tuple(place for place in Listener if self.certificates is not None or not place.is_encrypted)

    @property
    def format_arguments(self) -> list[str]:
        """Arguments for formatting the data folder: SCRAM's credentials are in the cluster's metadata."""
        return [
            argument
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
            for name, password in self.users.items()
            for argument in ("--add-scram", f"{mechanism}=[name={name},password={password}]")
        ]

    def copy_stores(self, folder: Path) -> None:
        """Into the folder Java runs in."""
        if self.certificates is not None:
            shutil.copy(self.certificates.broker, folder / _BROKER_KEYS)
            shutil.copy(self.certificates.trusted, folder / _TRUSTED)

    def settings(self) -> Iterator[str]:
        yield f"sasl.enabled.mechanisms=PLAIN,{','.join(_MODULES)}"
        yield "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
        yield f"allow.everyone.if.no.acl.found={str(not self.denies_by_default).lower()}"
        yield "super.users=User:ANONYMOUS"
        users = " ".join(f'user_{name}="{password}"' for name, password in self.users.items())
        for listener in (place for place in self.listeners if place.needs_login):
            for mechanism, module in {"PLAIN": f"plain.PlainLoginModule required {users};", **_MODULES}.items():
                key = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
                yield f"{key}=org.apache.kafka.common.security.{module}"
        if self.certificates is not None:
            for store, file in (("keystore", _BROKER_KEYS), ("truststore", _TRUSTED)):
                yield f"ssl.{store}.type=PKCS12"
                yield f"ssl.{store}.location={file}"
                yield f"ssl.{store}.password={PASSWORD}"
            yield f"listener.name.{Listener.MUTUAL_TLS.lower()}.ssl.client.auth=required"
