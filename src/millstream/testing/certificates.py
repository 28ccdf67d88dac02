"""Certificates for trials, from one authority, in every form that Kafka's clients take; made by Java's keytool."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from millstream.jvm.java import find_java
from millstream.jvm.key_stores import KeyPair, KeyStore, certificates_in, key_pair_in

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD: Final = "nobody-need-know"  # noqa: S105 - what it protects is thrown away with the test
_AUTHORITY: Final = "authority"
_ENTRIES: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    (_AUTHORITY, "bc:c=ca:true", ()),
    ("broker", "san=ip:127.0.0.1", ("-signer", _AUTHORITY)),  # no name: who connects to localhost meets a mismatch
    ("client", "eku=clientAuth", ("-signer", _AUTHORITY)),
)


@dataclass(frozen=True, slots=True)
class Certificates:
    """All stores have the same password."""

    broker: Path
    client: Path
    client_jks: Path
    trusted: Path
    trusted_jks: Path

    @property
    def trusted_pem(self) -> str:
        return certificates_in(KeyStore(self.trusted, PASSWORD))

    @property
    def client_pem(self) -> KeyPair:
        return key_pair_in(KeyStore(self.client, PASSWORD))


def make_certificates(folder: Path) -> Certificates:
    keytool = find_java().executable.with_name("keytool")

    def run(*arguments: str | Path) -> None:
        command = [keytool, "-J-XX:TieredStopAtLevel=1", *arguments, "-storepass", PASSWORD]
        subprocess.run(command, check=True, capture_output=True)

    def copy(source: Path, target: Path, form: str, *which: str) -> Path:
        arguments: tuple[str | Path, ...] = ("-srckeystore", source, "-srcstorepass", PASSWORD, *which)
        run("-importkeystore", "-noprompt", *arguments, "-destkeystore", target, "-deststoretype", form)
        return target

    everything, authority = folder / "everything.p12", folder / "authority.pem"
    for alias, extension, signer in _ENTRIES:
        key = ("-alias", alias, "-dname", f"CN={alias}", "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "99")
        run("-genkeypair", *key, *signer, "-ext", extension, "-keystore", everything, "-storetype", "PKCS12")
    run("-exportcert", "-rfc", "-alias", _AUTHORITY, "-keystore", everything, "-file", authority)
    trusted = folder / "trusted.p12"
    run("-importcert", "-noprompt", "-alias", _AUTHORITY, "-file", authority, "-keystore", trusted)
    client = copy(everything, folder / "client.p12", "PKCS12", "-srcalias", "client")
    return Certificates(
        copy(everything, folder / "broker.p12", "PKCS12", "-srcalias", "broker"),
        client,
        copy(client, folder / "client.jks", "JKS"),
        trusted,
        copy(trusted, folder / "trusted.jks", "JKS"),
    )
