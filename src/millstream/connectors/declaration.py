"""A connector as data: the options of its WITH clause, and the rules between them."""

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
    """Options that only a table in the `connector.type` dialect can have."""
    gives: str = ""
    """The changes that its tables produce, as the reference describes them."""
    takes: str = ""
    is_lookup_table: bool = False
    """Whether rows can be looked up in its tables."""
    metadata: tuple[MessagePart, ...] = ()
    without_effect: tuple[tuple[str, str], ...] = ()
    """Keys that are accepted and have no effect here, each with the reason; `options` contains them too."""
    has_partitions: bool = False
    """Whether it supports PARTITIONED BY."""
    lacks: tuple[tuple[str, str], ...] = ()
    """Keys that a user may expect because a similar connector has them, each with what to do instead."""
