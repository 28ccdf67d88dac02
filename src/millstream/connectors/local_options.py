"""What the connectors without a broker share in reading their options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NoReturn

from millstream.errors import Code, Diagnostic, ScriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from millstream.catalog.option_reader import Notice, OptionReader
    from millstream.catalog.options import ConfigOption

_MILLIS: Final = {
    ("d", "day", "days"): 86_400_000,
    ("h", "hour", "hours"): 3_600_000,
    ("m", "min", "minute", "minutes"): 60_000,
    ("s", "sec", "secs", "second", "seconds"): 1_000,
    ("", "ms", "milli", "millis", "millisecond", "milliseconds"): 1,
}
_MILLIS_PER_UNIT: Final = {unit: millis for units, millis in _MILLIS.items() for unit in units}
_DURATION: Final = re.compile(r"\s*(\d+)\s*([A-Za-z]*)\s*")


def duration_ms(value: str) -> int:
    """`10 s`, `5min`; a bare number is milliseconds."""
    match = _DURATION.fullmatch(value)
    if match is None or match[2].lower() not in _MILLIS_PER_UNIT:
        raise ValueError(f'"{value}" is not a duration such as 500 ms, 10 s, 5 min or 1 d')
    return int(match[1]) * _MILLIS_PER_UNIT[match[2].lower()]


def integer_within(least: int, greatest: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not re.fullmatch(r"\s*[-+]?[0-9]+\s*", value):
            raise ValueError(f'"{value}" is not a whole number')
        number = int(value)
        if not least <= number <= greatest:
            raise ValueError(f"{number} is not between {least} and {greatest}")
        return number

    return parse


def positive(value: str) -> int:
    return integer_within(1, 2**63 - 1)(value)


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
    """A notice for each option that is right, written, and does nothing here."""
    for option, why in reasons.items():
        reader.get(option)
        reader.without_effect(option.key, why)


def finish(reader: OptionReader, connector: str, metadata: Mapping[str, str] | None = None) -> tuple[Notice, ...]:
    """Raises all problems at once, leftovers and metadata that the connector does not have among them."""
    known = metadata or {}
    for column in reader.table.metadata_columns:
        if column.key not in known:
            has = f"It has: {', '.join(known)}." if known else None
            reader.problems.append(
                Diagnostic(
                    Code.UNDEFINED_COLUMN,
                    f"connector '{connector}' has no metadata '{column.key}' for column \"{column.name}\"",
                    column.span,
                    detail=has,
                )
            )
    return reader.finish(connector)
