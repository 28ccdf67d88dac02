"""`connector` = `blackhole`: discards every row, to measure what comes before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.connectors.declaration import ConnectorDeclaration
from millstream.connectors.local.options import finish, not_a_source
from millstream.connectors.local.tables import BlackholeSink

if TYPE_CHECKING:
    from typing import NoReturn

    from millstream.catalog.option_reader import OptionReader

IDENTIFIER: Final = "blackhole"
DECLARATION: Final = ConnectorDeclaration(
    IDENTIFIER, "Takes every row and keeps none: for measuring what comes before it.", (), takes="all changes"
)


def resolve_source(reader: OptionReader) -> NoReturn:
    not_a_source(reader, IDENTIFIER)


def resolve_sink(reader: OptionReader) -> BlackholeSink:
    return BlackholeSink(reader.table, finish(reader, IDENTIFIER), places=reader.places)
