"""A connector as data: what can be written in its WITH clause, and the rules that hold among it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.catalog.options import ConfigOption
    from millstream.connectors.metadata import MessagePart


@dataclass(frozen=True, slots=True)
class ConnectorDeclaration:
    identifier: str
    doc: str
    options: tuple[ConfigOption[Any], ...]
    legacy_options: tuple[ConfigOption[Any], ...] = ()
    """What only a table in the `connector.type` dialect can have."""
    gives: str = ""
    """The changes a table of it gives, as the reference says it."""
    takes: str = ""
    metadata: tuple[MessagePart, ...] = ()
    without_effect: tuple[tuple[str, str], ...] = ()
    """Keys that are right and do nothing here, each with the reason; `options` has them too."""
    has_partitions: bool = False
    """Whether PARTITIONED BY means something to it."""
    lacks: tuple[tuple[str, str], ...] = ()
    """Keys that a user may look for because a similar connector has them, each with what to do instead."""
