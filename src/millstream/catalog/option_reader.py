"""The one reader of WITH clauses: it takes every option it is asked for and collects all problems."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, TypeVar

from millstream.errors import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.catalog.options import ConfigOption
    from millstream.catalog.table import CatalogTable
    from millstream.source import Span

T = TypeVar("T")


class OptionReader:
    """Reads the options of one table. Problems are gathered, never raised one by one."""

    def __init__(self, table: CatalogTable) -> None:
        self.table = table
        self.problems: list[Diagnostic] = []
        self._entries = {entry.key: entry for entry in table.options}
        self._known: set[str] = set()
        self._recognised: set[str] = set()

    def has(self, key: str) -> bool:
        return key in self._entries

    def get(self, option: ConfigOption[T], prefix: str = "") -> T | None:
        """The option's value, its default when it is not written or cannot be read."""
        key = prefix + option.key
        self._known.add(key)
        entry = self._entries.get(key)
        if entry is None:
            return option.default
        try:
            return option.parse(entry.value)
        except ValueError as error:
            self.problems.append(
                Diagnostic(
                    Code.INVALID_OPTION_VALUE,
                    f"option '{key}' has a value that it cannot take",
                    entry.value_span,
                    detail=f"{error}.",
                    hint=option.doc,
                )
            )
            return option.default

    def require(self, option: ConfigOption[T]) -> T | None:
        """As `get`, but a missing key is a problem."""
        if option.key not in self._entries:
            self._known.add(option.key)
            self.problems.append(
                Diagnostic(
                    Code.MISSING_OPTION,
                    f"table \"{self.table.name}\" needs option '{option.key}'",
                    self.table.span,
                    hint=f"Add '{option.key}' = '…' to its WITH clause. {option.doc}",
                )
            )
            return None
        return self.get(option)

    def prefixed(self, prefix: str) -> dict[str, str]:
        """All options under a prefix, which is cut off: `properties.acks` gives `acks`."""
        found = {key: entry.value for key, entry in self._entries.items() if key.startswith(prefix)}
        self._known.update(found)
        return {key.removeprefix(prefix): value for key, value in found.items()}

    def recognise(self, keys: Iterable[str]) -> None:
        """Keys that are right and do nothing yet: they are refused by name, not as a slip of the pen."""
        self._recognised.update(keys)

    def place(self, key: str) -> Span:
        """Where the key is written, else the table's name."""
        entry = self._entries.get(key)
        return entry.key_span if entry else self.table.span

    def value_place(self, key: str) -> Span:
        entry = self._entries.get(key)
        return entry.value_span if entry else self.table.span

    def report(self, code: Code, primary: str, at: str, detail: str | None = None, hint: str | None = None) -> None:
        self.problems.append(Diagnostic(code, primary, self.place(at), detail, hint))

    def refuse_leftovers(self, connector: str, recognised: Iterable[str] = ()) -> None:
        """Whatever nobody asked for is a problem: a slip of the pen, or something not built yet."""
        recognised = self._recognised.union(recognised)
        for key, entry in self._entries.items():
            if key in self._known:
                continue
            if key in recognised:
                primary = f"option '{key}' of connector '{connector}' is not supported yet"
                self.problems.append(Diagnostic(Code.UNDEFINED_OPTION, primary, entry.key_span))
                continue
            near = difflib.get_close_matches(key, self._known | recognised, n=1, cutoff=0.6)
            self.problems.append(
                Diagnostic(
                    Code.UNDEFINED_OPTION,
                    f"connector '{connector}' has no option '{key}'",
                    entry.key_span,
                    detail=f"It has: {', '.join(sorted(self._known))}.",
                    hint=f"Did you mean '{near[0]}'?" if near else None,
                )
            )
