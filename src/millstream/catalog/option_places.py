"""Where a table's options are in the script, for the source or sink that they are resolved to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.source import Span
    from millstream.sql.statements import OptionEntry


@dataclass(frozen=True, slots=True)
class OptionPlaces:
    """By the keys of the `connector` dialect, in either dialect; an option that is not set is at the table's name."""

    table: Span
    _entries: Mapping[str, OptionEntry] = field(repr=False)

    def key(self, key: str) -> Span:
        entry = self._entries.get(key)
        return entry.key_span if entry else self.table

    def value(self, key: str) -> Span:
        entry = self._entries.get(key)
        return entry.value_span if entry else self.table
