"""`connector` = `print`: prints each row as a line, with its row kind: `+I[1, hello]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.catalog.options import ConfigOption, Role, boolean
from millstream.connectors.declaration import ConnectorDeclaration
from millstream.connectors.local.options import finish, not_a_source, without_effect
from millstream.connectors.local.tables import PrintSink

if TYPE_CHECKING:
    from typing import NoReturn

    from millstream.catalog.option_reader import OptionReader

IDENTIFIER: Final = "print"

PRINT_IDENTIFIER: Final = ConfigOption(
    "print-identifier", str, "What each line starts with, followed by '> '.", role=Role.SINK
)
STANDARD_ERROR: Final = ConfigOption(
    "standard-error", boolean, "Whether lines go to the standard error output.", False, Role.SINK
)
PARALLELISM: Final = ConfigOption("sink.parallelism", str, "Tasks that print.", role=Role.SINK)
_WITHOUT_EFFECT: Final = {PARALLELISM: "lines of a batch are printed in one place, in their order"}
DECLARATION: Final = ConnectorDeclaration(
    IDENTIFIER,
    "Every row as a line on the screen, with what it does to the table: `+I[1, hello]`.",
    (PRINT_IDENTIFIER, STANDARD_ERROR, PARALLELISM),
    takes="all changes",
    without_effect=tuple((option.key, why) for option, why in _WITHOUT_EFFECT.items()),
)


def resolve_source(reader: OptionReader) -> NoReturn:
    not_a_source(reader, IDENTIFIER)


def resolve_sink(reader: OptionReader) -> PrintSink:
    identifier = reader.get(PRINT_IDENTIFIER)
    to_standard_error = reader.get(STANDARD_ERROR)
    without_effect(reader, _WITHOUT_EFFECT)
    notices = finish(reader, IDENTIFIER)
    return PrintSink(
        table=reader.table,
        prefix=f"{identifier}> " if identifier else "",
        to_standard_error=bool(to_standard_error),
        notices=notices,
        places=reader.places,
    )
