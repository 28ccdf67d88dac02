"""The settings of all clients that do not run in Java."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from millstream.connectors.kafka.client import client_properties
from millstream.connectors.kafka.key_stores import with_pem_stores

if TYPE_CHECKING:
    from collections.abc import Mapping

_SILENT: Final = logging.getLogger("millstream.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


def client_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """The settings from a table's properties that concern the connection, without logging to stderr.

    Raises UnreadableStoreError.
    """
    return {**client_properties(with_pem_stores(properties)), "log_level": 0, "logger": _SILENT}
