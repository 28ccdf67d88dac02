"""`properties.*` for Kafka's C client, which makes requests that Spark does not, and writes all messages.

Java's clients use them as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from millstream.connectors.kafka.login import Untranslatable, login, untranslatable_login

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SHADED: Final = re.compile(r"\b[\w.]*shaded\.(?=org\.apache\.kafka\.)")
"""Connectors that bundle Kafka's classes rename their packages; here the classes have their original names."""
_SAME: Final = ("bootstrap.servers", "security.protocol", "client.id", "sasl.mechanism", "ssl.key.password")
_PEM: Final = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_PEM_FILES: Final = {
    "ssl.truststore.location": ("ssl.ca.location",),
    "ssl.keystore.location": ("ssl.certificate.location", "ssl.key.location"),
}
_JAVAS_STORES: Final = ("JKS", "PKCS12")
_STORE_TYPES: Final = (*_JAVAS_STORES, "PEM")
_HOST_CHECK: Final = "ssl.endpoint.identification.algorithm"


def client_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that concern the connection, by the C client's names. Key stores have been converted to PEM."""
    found = {key: properties[key] for key in _SAME if key in properties}
    if _is_authenticated(properties):
        found |= login(properties)
    if is_encrypted(properties):
        found |= _certificates(properties)
    return found


def untranslatable(properties: Mapping[str, str]) -> Iterator[Untranslatable]:
    if _is_authenticated(properties):
        yield from untranslatable_login(properties)
    if not is_encrypted(properties):
        return
    for store in ("truststore", "keystore"):
        kind = f"ssl.{store}.type"
        if f"ssl.{store}.location" in properties and properties.get(kind, "JKS").upper() not in _STORE_TYPES:
            yield Untranslatable(
                kind,
                f"a {store} of type {properties[kind]} cannot be read",
                f"Export it as one of {', '.join(_STORE_TYPES)}.",
            )


def javas_store(properties: Mapping[str, str], store: str) -> str | None:
    """The file of a `truststore` or `keystore` in one of Java's own formats rather than PEM."""
    is_javas = properties.get(f"ssl.{store}.type", "JKS").upper() in _JAVAS_STORES
    return properties.get(f"ssl.{store}.location") if is_javas and is_encrypted(properties) else None


def with_kafkas_names(value: str) -> str:
    """A value with the original names of Kafka's classes.

    >>> with_kafkas_names("org.apache.flink.kafka.shaded.org.apache.kafka.common.security.plain.PlainLoginModule")
    'org.apache.kafka.common.security.plain.PlainLoginModule'
    """
    return _SHADED.sub("", value)


def is_encrypted(properties: Mapping[str, str]) -> bool:
    return properties.get("security.protocol", "").upper().endswith("SSL")


def _is_authenticated(properties: Mapping[str, str]) -> bool:
    return properties.get("security.protocol", "").upper().startswith("SASL")


def _certificates(properties: Mapping[str, str]) -> dict[str, str]:
    found = {name: properties[key] for key, name in _PEM.items() if key in properties}
    found |= {name: properties[key] for key, names in _PEM_FILES.items() if key in properties for name in names}
    if _HOST_CHECK in properties:
        found[_HOST_CHECK] = properties[_HOST_CHECK].strip().lower() or "none"
    return found
