"""Where a table's options stand in the script, kept by what its connector makes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from millstream.source import Span
    from millstream.sql.statements import OptionEntry


@dataclass(frozen=True, slots=True)
class OptionPlaces:
    """By the keys of the `connector` dialect, whichever dialect the table is in; what is not written is at its name."""

    table: Span
    _entries: Mapping[str, OptionEntry] = field(repr=False)

    def key(self, key: str) -> Span:
        entry = self._entries.get(key)
        return entry.key_span if entry else self.table

    def value(self, key: str) -> Span:
        entry = self._entries.get(key)
        return entry.value_span if entry else self.table
