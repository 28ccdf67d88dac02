"""The older dialect of options: `connector.type` and its keys, each standing for one or more of today's.

'connector.type' = 'upsert-kafka', 'connector.topic' = 't', 'format.type' = 'csv'
'connector' = 'upsert-kafka', 'topic' = 't', 'key.format' = 'csv', 'value.format' = 'csv'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from millstream.catalog.option_reader import OptionReader
from millstream.catalog.suggestions import nearest_key
from millstream.connectors import kafka, upsert_kafka
from millstream.connectors import kafka_sink_options as sink
from millstream.errors import Code, Diagnostic
from millstream.formats.declarations import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.catalog.table import CatalogTable
    from millstream.sql.statements import OptionEntry

TYPE: Final = "connector.type"
FORMAT_TYPE: Final = "format.type"
PARTITIONER: Final = "connector.sink-partitioner"
PARTITIONER_CLASS: Final = "connector.sink-partitioner-class"
VERSION: Final = "connector.version"
VERSIONS: Final = ("0.10", "0.11", "universal")
_PROPERTIES: Final = "connector.properties."
_FORMAT: Final = "format."
_FORMAT_KEYS: Final = ("format", "key.format", "value.format")
_PARTITIONERS: Final = ("fixed", "round-robin", "custom")
_OLDER: Final = ("connector.", _FORMAT)
_NEWER: Final = ("properties.", "scan.", "sink.", "key.", "value.", *(f"{name}." for name in FORMATS))
TODAY: Final = {
    TYPE: "connector",
    **{
        legacy: option.key
        for declaration in (kafka.DECLARATION, upsert_kafka.DECLARATION)
        for option in (*declaration.options, *declaration.legacy_options)
        for legacy in option.legacy
        if legacy != FORMAT_TYPE
    },
}
"""What an older key is called today, where it is one key."""
_WITHOUT_EFFECT: Final = {
    VERSION: "one client speaks to brokers of every version",
    "connector.property-version": "there is one version of these options",
    "format.property-version": "there is one version of these options",
    "format.derive-schema": "the schema always follows from the table",
    PARTITIONER_CLASS: f"'{PARTITIONER}' is not custom",
}


def open_reader(table: CatalogTable) -> OptionReader:
    """The reader of a table's options, whichever dialect they are in."""
    return _Dialects(table).reader()


def _is_older(key: str) -> bool:
    return key == sink.UPDATE_MODE.key or key.startswith(_OLDER)


def _is_newer(key: str) -> bool:
    return key in ("connector", "topic", "topic-pattern", "format") or key.startswith(_NEWER)


@dataclass(frozen=True)
class _Dialects:
    table: CatalogTable

    @cached_property
    def written(self) -> dict[str, OptionEntry]:
        return {entry.key: entry for entry in reversed(self.table.options)}

    @cached_property
    def is_legacy(self) -> bool:
        return "connector" not in self.written and (TYPE in self.written or any(_is_older(key) for key in self.written))

    def reader(self) -> OptionReader:
        spell = self._spelt if self.is_legacy else None
        reader = OptionReader(self.table, self._entries(), spell)
        reader.problems += self._mixed()
        if self.is_legacy:
            reader.problems += self._partitioner_problems()
            self._take_note_of_idle_keys(reader)
        return reader

    def _entries(self) -> Iterator[tuple[str, OptionEntry]]:
        for entry in self.table.options:
            if self.is_legacy or not _is_older(entry.key):
                yield from ((key, entry) for key in self._today(entry.key))
            else:
                # A stray key of the other dialect is reported as such, and counts for what it stands for.
                yield from ((key, entry) for key in self._today(entry.key) if key not in self.written)

    @property
    def _is_custom(self) -> bool:
        chosen = self.written.get(PARTITIONER)
        return chosen is not None and chosen.value.strip().lower() == "custom"

    @property
    def _is_keyed(self) -> bool:
        chosen = self.written.get(TYPE) or self.written.get("connector")
        return chosen is not None and chosen.value == upsert_kafka.IDENTIFIER

    def _today(self, key: str) -> tuple[str, ...]:
        """The keys that an older key stands for; a key of today stands for itself."""
        if key == FORMAT_TYPE:
            return ("key.format", "value.format") if self._is_keyed else ("format",)
        if key == PARTITIONER and (self._is_custom or not self._partitioner_is_valid):
            return ()
        if key == PARTITIONER_CLASS and self._is_custom:
            return (TODAY[PARTITIONER],)
        if key.startswith(_PROPERTIES):
            return (key.removeprefix("connector."),)
        if key.startswith(_FORMAT) and key not in _WITHOUT_EFFECT:
            chosen = self.written.get(FORMAT_TYPE)
            part = key.removeprefix(_FORMAT)
            prefixes = ("key.", "value.") if self._is_keyed else ("",)
            return tuple(f"{prefix}{chosen.value}.{part}" for prefix in prefixes) if chosen else ()
        return (TODAY.get(key, key),)

    def _spelt(self, key: str) -> str | None:
        """What a key of today is called in the older dialect; None where it has no such key."""
        if key in _FORMAT_KEYS:
            return FORMAT_TYPE
        if key.startswith("properties."):
            return f"connector.{key}"
        chosen = self.written.get(FORMAT_TYPE)
        bare = key.removeprefix("key.").removeprefix("value.")
        if chosen is not None and bare.startswith(f"{chosen.value}."):
            return _FORMAT + bare.removeprefix(f"{chosen.value}.")
        if _is_older(key):
            return key
        return next((legacy for legacy, today in TODAY.items() if today == key), None)

    def _mixed(self) -> Iterator[Diagnostic]:
        is_other = _is_newer if self.is_legacy else _is_older
        first = TYPE if TYPE in self.written and self.is_legacy else "connector"
        if first not in self.written:
            first = next((key for key in self.written if _is_older(key) is self.is_legacy), first)
        for entry in self.table.options:
            if is_other(entry.key) and entry.key != first:
                instead = self._spelt(entry.key) if self.is_legacy else self._newer(entry.key)
                yield Diagnostic(
                    Code.CONFLICTING_OPTIONS,
                    f"options '{first}' and '{entry.key}' are of two dialects",
                    entry.key_span,
                    detail=f"A table is described with 'connector' and its keys or with '{TYPE}' and its keys.",
                    hint=f"Write '{instead}' instead of '{entry.key}'." if instead else "Use the keys of one of them.",
                )

    def _newer(self, key: str) -> str | None:
        today = self._today(key)
        if key in TODAY or key == FORMAT_TYPE or key.startswith(_PROPERTIES):
            return today[0] if today else TODAY.get(key)
        return TODAY.get(nearest_key(key, TODAY) or "")

    @property
    def _partitioner_is_valid(self) -> bool:
        chosen = self.written.get(PARTITIONER)
        return chosen is not None and chosen.value.strip().lower() in _PARTITIONERS

    def _partitioner_problems(self) -> Iterator[Diagnostic]:
        chosen = self.written.get(PARTITIONER)
        if chosen is not None and not self._partitioner_is_valid:
            yield Diagnostic(
                Code.INVALID_OPTION_VALUE,
                f"option '{PARTITIONER}' has a value that it cannot take",
                chosen.value_span,
                detail=f'"{chosen.value}" is not one of {", ".join(_PARTITIONERS)}.',
            )
        if chosen is not None and self._is_custom and PARTITIONER_CLASS not in self.written:
            yield Diagnostic(
                Code.MISSING_OPTION,
                f"table \"{self.table.name}\" needs option '{PARTITIONER_CLASS}'",
                chosen.key_span,
                detail=f"'{PARTITIONER}' = 'custom' asks for it.",
                hint=f"Add '{PARTITIONER_CLASS}' = 'module:Class' to its WITH clause.",
            )

    def _take_note_of_idle_keys(self, reader: OptionReader) -> None:
        for key, reason in _WITHOUT_EFFECT.items():
            if key != PARTITIONER_CLASS or not self._is_custom:
                reader.without_effect(key, reason)
        version = self.written.get(VERSION)
        if version is not None and version.value.strip() not in VERSIONS:
            reader.problems.append(
                Diagnostic(
                    Code.INVALID_OPTION_VALUE,
                    f"option '{VERSION}' has a value that it cannot take",
                    version.value_span,
                    detail=f'"{version.value}" is not one of {", ".join(VERSIONS)}.',
                    hint="Leave it out: one client speaks to brokers of every version.",
                )
            )
