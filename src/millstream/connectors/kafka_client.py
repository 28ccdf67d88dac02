"""`properties.*` for Kafka's C client, which asks brokers what Spark does not, and writes what Spark cannot.

Java's clients take them as they are.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHADED: Final = "org.apache.flink.kafka.shaded."
"""Flink's bundled connector keeps Kafka's classes under it; here they have their own names."""
_SAME: Final = ("bootstrap.servers", "security.protocol", "client.id", "sasl.mechanism", "ssl.key.password")
_JAAS: Final = "sasl.jaas.config"
_MECHANISM: Final = "sasl.mechanism"
_USER_AND_PASSWORD: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_TEXT: Final = r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;"']+)"""
_PEM: Final = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_PEM_FILES: Final = {
    "ssl.truststore.location": ("ssl.ca.location",),
    "ssl.keystore.location": ("ssl.certificate.location", "ssl.key.location"),
}
_PKCS12_FILES: Final = {
    "ssl.keystore.location": ("ssl.keystore.location",),
    "ssl.keystore.password": ("ssl.keystore.password",),
}
_HOST_CHECK: Final = "ssl.endpoint.identification.algorithm"
_OF_A_PRODUCER: Final = {
    **{
        key: key
        for key in (
            "acks",
            "batch.size",
            "compression.type",
            "connections.max.idle.ms",
            "enable.idempotence",
            "linger.ms",
            "max.in.flight.requests.per.connection",
            "metadata.max.age.ms",
            "reconnect.backoff.max.ms",
            "reconnect.backoff.ms",
            "request.timeout.ms",
            "retries",
            "retry.backoff.max.ms",
            "retry.backoff.ms",
        )
    },
    "delivery.timeout.ms": "message.timeout.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
_ALWAYS_OF_A_PRODUCER: Final = {"partitioner": "murmur2_random", "enable.idempotence": "true"}
"""Keys go where Java's producers send them, and a retry inside the client writes nothing twice."""
_SETTLED_BY_TRANSACTIONS: Final = frozenset(
    {"acks", "enable.idempotence", "max.in.flight.requests.per.connection", "retries", "message.timeout.ms"}
)
_SILENT: Final = logging.getLogger("millstream.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


@dataclass(frozen=True, slots=True)
class Untranslatable:
    """A property that Java's clients would take and the C client cannot."""

    key: str
    why: str
    hint: str


def client_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """What of a table's properties concerns the connection, by the C client's names."""
    found = {key: properties[key] for key in _SAME if key in properties}
    if _is_authenticated(properties):
        found |= _login(properties)
    if _is_encrypted(properties):
        found |= _certificates(properties)
    return found


def client_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """The part of a table's properties that concerns the connection, and no chatter on stderr."""
    return {**client_properties(properties), "log_level": 0, "logger": _SILENT}


def producer_settings(properties: Mapping[str, str], *, transactional: bool = False) -> dict[str, Any]:
    """The same for a producer of a table's messages, with what concerns sending them."""
    found = {name: properties[key].strip() for key, name in _OF_A_PRODUCER.items() if key in properties}
    if transactional:
        found = {name: value for name, value in found.items() if name not in _SETTLED_BY_TRANSACTIONS}
    elif found.get("acks", "all") not in ("all", "-1"):
        found["enable.idempotence"] = "false"
    return {**client_settings(properties), **_ALWAYS_OF_A_PRODUCER, **found}


def untranslatable(properties: Mapping[str, str]) -> Iterator[Untranslatable]:
    if _is_authenticated(properties):
        mechanism = properties.get(_MECHANISM, "GSSAPI").upper()
        if mechanism not in _USER_AND_PASSWORD:
            yield Untranslatable(
                _MECHANISM if _MECHANISM in properties else "security.protocol",
                f"SASL mechanism {mechanism} is not supported",
                f"Set 'properties.{_MECHANISM}' to one of {', '.join(_USER_AND_PASSWORD)}.",
            )
        elif len(_login(properties)) < len(("username", "password")):
            yield Untranslatable(
                _JAAS if _JAAS in properties else _MECHANISM,
                f"'properties.{_JAAS}' has no username and password",
                f'Write it as: … required username="…" password="…"; with the login module of {mechanism}.',
            )
    if not _is_encrypted(properties):
        return
    for store, types in (("truststore", ("PEM",)), ("keystore", ("PEM", "PKCS12"))):
        location, kind = f"ssl.{store}.location", properties.get(f"ssl.{store}.type", "JKS").upper()
        if location in properties and kind not in types:
            yield Untranslatable(
                location,
                f"a {store} of type {kind} cannot be read",
                f"Export it as PEM and set 'properties.ssl.{store}.type' = 'PEM'.",
            )


def _is_authenticated(properties: Mapping[str, str]) -> bool:
    return properties.get("security.protocol", "").upper().startswith("SASL")


def _is_encrypted(properties: Mapping[str, str]) -> bool:
    return properties.get("security.protocol", "").upper().endswith("SSL")


def _login(properties: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for word in ("username", "password"):
        if given := re.search(rf"\b{word}\s*=\s*{_TEXT}", properties.get(_JAAS, "")):
            found[f"sasl.{word}"] = _unquoted(given[1])
    return found


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[0] in "\"'" else text


def _certificates(properties: Mapping[str, str]) -> dict[str, str]:
    found = {name: properties[key] for key, name in _PEM.items() if key in properties}
    pkcs12 = properties.get("ssl.keystore.type", "").upper() == "PKCS12"
    files = {**_PEM_FILES, **(_PKCS12_FILES if pkcs12 else {})}
    found |= {name: properties[key] for key, names in files.items() if key in properties for name in names}
    if _HOST_CHECK in properties:
        found[_HOST_CHECK] = properties[_HOST_CHECK].strip().lower() or "none"
    return found
