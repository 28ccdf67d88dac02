"""Examines a broker that no client could connect to: whether it uses TLS, and with which certificate.

Kafka's client only reports that nobody answered, or that a certificate could not be verified.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import closing
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SECONDS: Final = 2.0
_DATES: Final = (9, 10)
_NAMES: Final = (62, 64)
"""OpenSSL's error numbers for problems with a certificate."""


class Finding(Enum):
    SPEAKS_TLS = auto()
    HANGS_UP = auto()
    NOT_TRUSTED = auto()
    OTHER_HOST = auto()
    OUT_OF_DATE = auto()


@dataclass(frozen=True, slots=True)
class Probe:
    finding: Finding
    detail: str | None = None


def probe(servers: str, settings: Mapping[str, str]) -> Probe | None:
    """Examines the first server that accepts connections; None if none does, or if nothing is wrong with it.

    `settings` are those of the C client.
    """
    for host, port in _addresses(servers):
        try:
            connection = socket.create_connection((host, port), _SECONDS)
        except OSError:
            continue
        with closing(connection):
            is_encrypted = settings.get("security.protocol", "").upper().endswith("SSL")
            return _certificate(connection, host, settings) if is_encrypted else _protocol(connection)
    return None


def _addresses(servers: str) -> list[tuple[str, int]]:
    pairs = (server.strip().rpartition("://")[2].rpartition(":") for server in servers.split(","))
    return [(host.strip("[]"), int(port)) for host, _, port in pairs if port.isdigit()]


def _protocol(connection: socket.socket) -> Probe:
    anyone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anyone.check_hostname = False
    anyone.verify_mode = ssl.CERT_NONE  # nothing is sent over this connection
    try:
        with anyone.wrap_socket(connection):
            return Probe(Finding.SPEAKS_TLS)
    except ssl.SSLError as error:
        # An alert is a TLS response; a Kafka broker without TLS closes the connection instead.
        return Probe(Finding.SPEAKS_TLS if "ALERT" in (error.reason or "") else Finding.HANGS_UP)
    except OSError:
        return Probe(Finding.HANGS_UP)


def _certificate(connection: socket.socket, host: str, settings: Mapping[str, str]) -> Probe | None:
    try:
        trusting = ssl.create_default_context(cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem"))
        trusting.check_hostname = settings.get("ssl.endpoint.identification.algorithm") != "none"
        with trusting.wrap_socket(connection, server_hostname=host):
            return Probe(Finding.HANGS_UP)  # so the problem arises later, after the handshake
    except ssl.SSLCertVerificationError as error:
        detail = f"{error.verify_message[:1].upper()}{error.verify_message[1:].rstrip('.')}."
        if error.verify_code in _NAMES:
            return Probe(Finding.OTHER_HOST, detail)
        return Probe(Finding.OUT_OF_DATE if error.verify_code in _DATES else Finding.NOT_TRUSTED, detail)
    except OSError:
        return None
