"""Converts Java's key stores in a table's properties to PEM, for a client that reads nothing else."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.connectors.kafka.client import javas_store
from millstream.jvm.key_stores import KeyStore, KeyStoreError, certificates_in, key_pair_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_ENCRYPTED: Final = re.compile(r"-----BEGIN ENCRYPTED PRIVATE KEY-----(.*?)-----END", re.DOTALL)
_PBES2: Final = bytes.fromhex("06092a864886f70d01050d")
"""The object identifier of an encryption, near the start of a key."""
_BEGINNING: Final = 24
_UNREAD: Final = (
    "Java's Kafka client cannot read a PEM private key that is encrypted with PBES2; write it anew with "
    "`openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES`, or use a PKCS12 store"
)


@dataclass(frozen=True, slots=True)
class UnreadableStoreError(Exception):
    """`kind` is truststore or keystore."""

    kind: str
    file: str
    why: str

    @property
    def key(self) -> str:
        return f"ssl.{self.kind}.location"

    def __str__(self) -> str:
        return f"the {self.kind} {self.file} cannot be read: {self.why}"


def with_pem_stores(properties: Mapping[str, str]) -> dict[str, str]:
    """The same properties, with the contents of Java's stores instead of their files."""
    _refuse_unread_key(properties)
    converted = dict(properties)
    for store in ("truststore", "keystore"):
        location = javas_store(properties, store)
        if location is not None:
            found = dict(_contents(properties, store, location))
            converted = {key: value for key, value in converted.items() if not key.startswith(f"ssl.{store}.")} | found
    return converted


def _contents(properties: Mapping[str, str], store: str, location: str) -> Iterator[tuple[str, str]]:
    password = properties.get(f"ssl.{store}.password")
    try:
        if store == "truststore":
            yield "ssl.truststore.certificates", certificates_in(KeyStore(Path(location), password))
        else:
            pair = key_pair_in(KeyStore(Path(location), password, properties.get("ssl.key.password")))
            yield from (("ssl.keystore.key", pair.key), ("ssl.keystore.certificate.chain", pair.chain))
            yield "ssl.key.password", pair.password
    except KeyStoreError as error:
        raise UnreadableStoreError(store, location, str(error)) from error


def _refuse_unread_key(properties: Mapping[str, str]) -> None:
    """Java's client fails on such a key only after the job has started, without giving the reason."""
    file = properties.get("ssl.keystore.location", "") if properties.get("ssl.keystore.type") == "PEM" else ""
    try:
        text = properties.get("ssl.keystore.key") or (Path(file).read_text(encoding="utf-8") if file else "")
        found = _ENCRYPTED.search(text)
        key = base64.b64decode("".join(found[1].split())) if found else b""
    except (OSError, ValueError, binascii.Error):
        return  # reported by the client
    if _PBES2 in key[:_BEGINNING]:
        raise UnreadableStoreError("keystore", file, _UNREAD)
