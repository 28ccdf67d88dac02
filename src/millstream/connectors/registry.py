"""Resolves a table to a source or sink of its connector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from millstream.catalog.options import ConfigOption
from millstream.catalog.suggestions import nearest_key
from millstream.connectors.kafka import kafka_connector as kafka
from millstream.connectors.kafka import upsert_connector as upsert_kafka
from millstream.connectors.legacy import TYPE, open_reader
from millstream.connectors.local import blackhole, datagen, filesystem, print_connector
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.spelling import nearest

if TYPE_CHECKING:
    from millstream.catalog.option_reader import OptionReader
    from millstream.catalog.table import CatalogTable
    from millstream.connectors.declaration import ConnectorDeclaration
    from millstream.connectors.tables import Sink, Source


class Connector(Protocol):
    """The contents of a connector's module."""

    @property
    def IDENTIFIER(self) -> str: ...  # noqa: N802

    @property
    def DECLARATION(self) -> ConnectorDeclaration: ...  # noqa: N802

    def resolve_source(self, reader: OptionReader, /) -> Source:
        """Raises all problems of the options at once."""

    def resolve_sink(self, reader: OptionReader, /) -> Sink:
        """Likewise."""


_MODULES: Final[tuple[Connector, ...]] = (kafka, upsert_kafka, datagen, filesystem, print_connector, blackhole)
CONNECTORS: Final = {module.IDENTIFIER: module for module in _MODULES}
LOOKUP_CONNECTORS: Final = tuple(name for name, module in CONNECTORS.items() if module.DECLARATION.is_lookup_table)
CONNECTOR: Final = ConfigOption(
    "connector", str, "What the table is connected to.", needed="always", example="kafka", legacy=(TYPE,)
)


def resolve_source(table: CatalogTable) -> Source:
    reader = open_reader(table)
    return _connector(reader).resolve_source(reader)


def resolve_sink(table: CatalogTable) -> Sink:
    reader = open_reader(table)
    return _connector(reader).resolve_sink(reader)


def _connector(reader: OptionReader) -> Connector:
    identifier = reader.get(CONNECTOR)
    key = reader.written_key(CONNECTOR.key)
    known = f"Connectors: {', '.join(CONNECTORS)}."
    if identifier is None:
        raise ScriptError(
            Diagnostic(
                Code.MISSING_CONNECTOR,
                f"table \"{reader.table.name}\" has no option '{key}'",
                reader.table.span,
                hint=_likely_connector_key(reader, key) or f"Add '{key}' = '…' to its WITH clause. {known}",
            )
        )
    if identifier not in CONNECTORS:
        near = nearest_key(identifier, CONNECTORS)
        raise ScriptError(
            Diagnostic(
                Code.UNDEFINED_CONNECTOR,
                f"there is no connector '{identifier}'",
                reader.value_place(CONNECTOR.key),
                detail=known if near else None,
                hint=f"Did you mean '{near}'?" if near else known,
            )
        )
    if reader.table.partitioned_by and not CONNECTORS[identifier].DECLARATION.has_partitions:
        reader.report(
            Code.CONFLICTING_OPTIONS,
            f"table \"{reader.table.name}\" is PARTITIONED BY, and connector '{identifier}' has no such partitions",
            CONNECTOR.key,
            hint="Remove PARTITIONED BY; connector 'filesystem' has it, and keeps each partition in a folder.",
        )
    return CONNECTORS[identifier]


def _likely_connector_key(reader: OptionReader, key: str) -> str | None:
    near = nearest(key, (entry.key for entry in reader.table.options), may_be_right=True)
    return f"Write '{key}' instead of '{near}'." if near else None
