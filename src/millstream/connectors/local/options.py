"""Reading options, for all connectors without a broker."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, NoReturn

from millstream.catalog.durations import duration
from millstream.catalog.options import OptionType, at_least, long_integer
from millstream.errors import Code, Diagnostic, ScriptError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.catalog.option_reader import Notice, OptionReader
    from millstream.catalog.options import ConfigOption


def _milliseconds(value: str) -> int:
    return duration(value) // timedelta(milliseconds=1)


duration_ms: Final = OptionType("DURATION", _milliseconds)
positive: Final = at_least(1, long_integer)


def integer_within(least: int, greatest: int) -> OptionType[int]:
    def parse(value: str) -> int:
        number = long_integer(value)
        if not least <= number <= greatest:
            raise ValueError(f"{number} is not between {least} and {greatest}")
        return number

    return OptionType("LONG", parse)


def not_a_source(reader: OptionReader, connector: str) -> NoReturn:
    raise ScriptError(
        Diagnostic(
            Code.NOT_A_SOURCE,
            f"table \"{reader.table.name}\" cannot be read: connector '{connector}' is a sink only",
            reader.place("connector"),
        )
    )


def not_a_sink(reader: OptionReader, connector: str, hint: str) -> NoReturn:
    raise ScriptError(
        Diagnostic(
            Code.NOT_A_SINK,
            f"table \"{reader.table.name}\" cannot be written: connector '{connector}' is a source only",
            reader.place("connector"),
            hint=hint,
        )
    )


def without_effect(reader: OptionReader, reasons: Mapping[ConfigOption[str], str]) -> None:
    """A notice for each option that is set and has no effect here."""
    for option, why in reasons.items():
        reader.get(option)
        reader.without_effect(option.key, why)


def finish(reader: OptionReader, connector: str, metadata: Mapping[str, str] | None = None) -> tuple[Notice, ...]:
    """Raises all problems at once, including unknown options and unsupported metadata."""
    known = metadata or {}
    for column in reader.table.metadata_columns:
        if column.key not in known:
            has = f"It has: {', '.join(known)}." if known else None
            reader.problems.append(
                Diagnostic(
                    Code.INVALID_METADATA,
                    f"connector '{connector}' has no metadata '{column.key}' for column \"{column.name}\"",
                    column.span,
                    detail=has,
                )
            )
    return reader.finish(connector)
