"""Reads WITH clauses: takes every requested option and collects all problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from millstream.catalog.option_places import OptionPlaces
from millstream.catalog.suggestions import nearest_key
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.secrets import is_secret, without_url_credentials
from millstream.spelling import closest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from millstream.catalog.options import ConfigOption
    from millstream.catalog.table import CatalogTable
    from millstream.source import Span
    from millstream.sql.statements import OptionEntry

T = TypeVar("T")

_SHOWN_KEYS: Final = 8


@dataclass(frozen=True, slots=True)
class Notice:
    """Something decided on the user's behalf, or without effect: reported once, and not an error."""

    text: str
    span: Span


class OptionReader:
    """Reads the options of one table. Problems are collected, never raised one by one.

    Options are requested by the keys of the `connector` dialect. A table in another dialect comes with `entries`, which
    maps these keys to its options, and `spell`, which returns the user's name of a key for messages.
    """

    def __init__(
        self,
        table: CatalogTable,
        entries: Iterable[tuple[str, OptionEntry]] | None = None,
        spell: Callable[[str], str | None] | None = None,
    ) -> None:
        self.table = table
        self.problems: list[Diagnostic] = []
        self.notices: list[Notice] = []
        self.is_legacy = spell is not None
        self._spell = spell or (lambda key: key)
        self._entries: dict[str, OptionEntry] = {}
        self.places = OptionPlaces(table.span, self._entries)
        for key, entry in entries if entries is not None else ((entry.key, entry) for entry in table.options):
            self._take(key, entry)
        self._values: dict[str, Any] = {}
        self._known: set[str] = set()
        self._taken_whole: set[str] = set()
        self._recognised: set[str] = set()
        self._lacking: dict[str, str] = {}
        self._missed: dict[Diagnostic, str] = {}

    def _take(self, key: str, entry: OptionEntry) -> None:
        first = self._entries.get(key)
        self._entries[key] = entry
        if first is not None and first.key == entry.key:
            self.tell(
                f"option '{entry.key}' of table \"{self.table.name}\" is given at line {first.key_span.line} and "
                f"again at line {entry.key_span.line}: the last one counts",
                key,
            )
        elif first is not None:
            self.problems.append(
                Diagnostic(
                    Code.CONFLICTING_OPTIONS,
                    f"options '{first.key}' and '{entry.key}' set the same thing",
                    entry.key_span,
                    detail=f"The first is at line {first.key_span.line}.",
                    hint="Remove one of them.",
                )
            )

    def has(self, key: str) -> bool:
        return key in self._entries

    def raw(self, key: str) -> str | None:
        """The value as it is written."""
        entry = self._entries.get(key)
        return entry.value if entry else None

    def written_key(self, key: str) -> str:
        """The user's name of the key."""
        entry = self._entries.get(key)
        return entry.key if entry else self._spell(key) or key

    def get(self, option: ConfigOption[T], prefix: str = "") -> T | None:
        """The option's value; its default if it is not set or cannot be read."""
        key = prefix + option.key
        self._known.add(key)
        if key not in self._values:
            self._values[key] = self._parse(option, key)
        return cast("T | None", self._values[key])

    def _parse(self, option: ConfigOption[T], key: str) -> T | None:
        entry = self._entries.get(key)
        if entry is None:
            return option.default
        try:
            return option.parse(entry.value)
        except ValueError as error:
            hidden = option.is_secret or is_secret(entry.key)
            self.problems.append(
                Diagnostic(
                    Code.INVALID_OPTION_VALUE,
                    f"option '{entry.key}' has an invalid value",
                    entry.value_span,
                    detail=None if hidden else f"{error}.",
                    hint=option.doc,
                )
            )
            return option.default

    def read(self, options: Iterable[ConfigOption[Any]]) -> None:
        """Reads every option of a connector, whatever its role: an invalid value is invalid in both."""
        for option in options:
            self.get(option)

    def require(self, option: ConfigOption[T]) -> T | None:
        """Like `get`, but a missing key is a problem."""
        if option.key not in self._entries:
            self._known.add(option.key)
            self.problems.append(self.missing(option))
            return None
        return self.get(option)

    def missing(self, option: ConfigOption[Any], because: str | None = None) -> Diagnostic:
        """`because` says which other option requires it."""
        key = self.written_key(option.key)
        missed = Diagnostic(
            Code.MISSING_OPTION,
            f"table \"{self.table.name}\" needs option '{key}'",
            self.table.span,
            detail=because,
            hint=f"Add '{key}' = '…' to its WITH clause. {option.doc}",
        )
        self._missed[missed] = key
        return missed

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """All options with a prefix, which is removed: `properties.acks` becomes `acks`."""
        found = {key: entry.value for key, entry in self._entries.items() if key.startswith(prefix)}
        self._taken_whole.update(found)
        return {key.removeprefix(prefix): value for key, value in found.items()}

    def recognise(self, keys: Iterable[str]) -> None:
        """Keys that are valid but not supported yet: they are refused by name rather than as a typo."""
        self._recognised.update(keys)

    def explain_lack(self, reasons: Iterable[tuple[str, str]]) -> None:
        """Keys that the connector does not have, each with the hint to give if one is used."""
        self._lacking.update(reasons)

    def without_effect(self, key: str, because: str) -> None:
        """Reports once why a valid key has no effect here."""
        self._known.add(key)
        if key in self._entries:
            reason = because[:1].lower() + because[1:].removesuffix(".")
            self.tell(f"option '{self.written_key(key)}' of table \"{self.table.name}\" has no effect: {reason}", key)

    def tell(self, text: str, at: str) -> None:
        notice = Notice(without_url_credentials(text), self.place(at))
        if notice not in self.notices:
            self.notices.append(notice)

    def place(self, key: str) -> Span:
        """Where the key is written; otherwise the table's name."""
        return self.places.key(key)

    def value_place(self, key: str) -> Span:
        return self.places.value(key)

    def problem(
        self, code: Code, primary: str, at: str, detail: str | None = None, hint: str | None = None
    ) -> Diagnostic:
        return Diagnostic(code, primary, self.place(at), detail, hint)

    def report(self, code: Code, primary: str, at: str, detail: str | None = None, hint: str | None = None) -> None:
        self.problems.append(self.problem(code, primary, at, detail, hint))

    def finish(self, connector: str) -> tuple[Notice, ...]:
        """Raises all problems at once, including unused options; returns the notices."""
        self.refuse_leftovers(connector)
        if self.problems:
            raise ScriptError(dict.fromkeys(self.problems))
        return tuple(self.notices)

    def refuse_leftovers(self, connector: str) -> None:
        """Every option that nobody requested is a problem; the option that a typo was meant for is not missing too."""
        keys = {spelt for key in self._known if (spelt := self._spell(key))}
        written = {entry.key for entry in self._entries.values()}
        meant: set[str] = set()
        for key, entry in self._entries.items():
            if key in self._known or key in self._taken_whole:
                continue
            near = None if key in self._lacking else nearest_key(entry.key, keys)
            if near is not None and near not in written:
                meant.add(near)
            self.problems.append(self._leftover(connector, key, near, keys))
        self.problems = [problem for problem in self.problems if self._missed.get(problem) not in meant]

    def _leftover(self, connector: str, key: str, near: str | None, keys: set[str]) -> Diagnostic:
        """A typo, or something that is not supported yet."""
        entry = self._entries[key]
        if key in self._recognised:
            return Diagnostic(
                Code.NOT_BUILT_YET,
                f"option '{entry.key}' of connector '{connector}' is not supported yet",
                entry.key_span,
            )
        hint = self._lacking.get(key) or (f"Did you mean '{near}'?" if near else None)
        return Diagnostic(
            Code.UNDEFINED_OPTION,
            f"connector '{connector}' has no option '{entry.key}'",
            entry.key_span,
            detail=None if hint else _some_of(keys, entry.key, connector),
            hint=hint,
        )


def _some_of(keys: Collection[str], written: str, connector: str) -> str:
    """All keys if there are few, otherwise the nearest ones."""
    if len(keys) <= _SHOWN_KEYS:
        return f"It has: {', '.join(sorted(keys))}."
    shown = sorted(closest(written, keys, _SHOWN_KEYS))
    return f"It has {len(keys)} options, among them {', '.join(shown)}; `millstream options {connector}` lists all."
