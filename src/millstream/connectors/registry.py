"""From a table to what its connector makes of it, as a source or as a sink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.catalog.option_reader import OptionReader
from millstream.catalog.options import ConfigOption
from millstream.connectors import blackhole, datagen, filesystem, kafka, print_sink, upsert_kafka
from millstream.errors import Code, Diagnostic, ScriptError

if TYPE_CHECKING:
    from types import ModuleType

    from millstream.catalog.table import CatalogTable
    from millstream.connectors.tables import Sink, Source

CONNECTORS: Final = {
    module.IDENTIFIER: module
    for module in (
        kafka,
        upsert_kafka,
        datagen,
        filesystem,
        print_sink,
        blackhole,
    )
}
_CONNECTOR: Final = ConfigOption("connector", str, "What the table is connected to.")


def resolve_source(table: CatalogTable) -> Source:
    reader = OptionReader(table)
    source: Source = _connector(reader).resolve_source(reader)
    return source


def resolve_sink(table: CatalogTable) -> Sink:
    reader = OptionReader(table)
    sink: Sink = _connector(reader).resolve_sink(reader)
    return sink


def _connector(reader: OptionReader) -> ModuleType:
    identifier = reader.get(_CONNECTOR)
    known = f"Connectors: {', '.join(CONNECTORS)}."
    if identifier is None:
        raise ScriptError(
            Diagnostic(
                Code.MISSING_CONNECTOR,
                f"table \"{reader.table.name}\" has no option 'connector'",
                reader.table.span,
                hint=f"Add 'connector' = '…' to its WITH clause. {known}",
            )
        )
    if identifier not in CONNECTORS:
        raise ScriptError(
            Diagnostic(
                Code.UNDEFINED_CONNECTOR,
                f"there is no connector '{identifier}'",
                reader.value_place("connector"),
                hint=known,
            )
        )
    return CONNECTORS[identifier]
