"""Java's key stores in a table's properties, given as PEM to a client that reads nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.connectors.kafka_client import javas_store
from millstream.jvm.key_stores import KeyStore, KeyStoreError, certificates_in, key_pair_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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
    """The same properties, with the contents of Java's stores in the place of their files."""
    given = dict(properties)
    for store in ("truststore", "keystore"):
        location = javas_store(properties, store)
        if location is not None:
            found = dict(_contents(properties, store, location))
            given = {key: value for key, value in given.items() if not key.startswith(f"ssl.{store}.")} | found
    return given


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
