"""The oldest spelling of Kafka's properties: `connector.properties.0.key` and `connector.properties.0.value`.

'connector.properties.0.key' = 'group.id', 'connector.properties.0.value' = 'readers'
'connector.properties.group.id' = 'readers'
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from millstream.errors import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.sql.statements import OptionEntry

_NUMBERED: Final = re.compile(r"(?P<pair>(?P<prefix>connector\.properties\.)\d+)\.(?P<part>key|value)")


def name_properties(options: tuple[OptionEntry, ...]) -> tuple[OptionEntry, ...]:
    """Each pair as one option with the property's own name, at the position of its value."""
    names = {match["pair"]: entry.value.strip() for entry, match in _find_numbered(options) if match["part"] == "key"}
    return tuple(_rename(entry, names) for entry in options if not _is_key(entry))


def find_unpaired_properties(options: tuple[OptionEntry, ...]) -> Iterator[Diagnostic]:
    written = {entry.key for entry in options}
    for entry, match in _find_numbered(options):
        other = f"{match['pair']}.{'value' if match['part'] == 'key' else 'key'}"
        if other not in written:
            yield Diagnostic(
                Code.MISSING_OPTION,
                f"option '{entry.key}' needs option '{other}'",
                entry.key_span,
                hint=f"Write both, or '{match['prefix']}NAME' = '…' instead of them.",
            )


def _find_numbered(options: tuple[OptionEntry, ...]) -> Iterator[tuple[OptionEntry, re.Match[str]]]:
    for entry in options:
        if match := _NUMBERED.fullmatch(entry.key):
            yield entry, match


def _is_key(entry: OptionEntry) -> bool:
    match = _NUMBERED.fullmatch(entry.key)
    return match is not None and match["part"] == "key"


def _rename(entry: OptionEntry, names: dict[str, str]) -> OptionEntry:
    match = _NUMBERED.fullmatch(entry.key)
    if match is None or match["pair"] not in names:
        return entry
    return replace(entry, key=match["prefix"] + names[match["pair"]])
