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
from millstream.connectors.kafka import kafka_connector as kafka
from millstream.connectors.kafka import sink_options as sink
from millstream.connectors.kafka import upsert_connector as upsert_kafka
from millstream.connectors.local import filesystem
from millstream.errors import Code, Diagnostic
from millstream.formats.registry import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
        for declaration in (kafka.DECLARATION, upsert_kafka.DECLARATION, filesystem.DECLARATION)
        for option in (*declaration.options, *declaration.legacy_options)
        for legacy in option.legacy
        if legacy != FORMAT_TYPE
    },
}
"""The current name of an older key, if it corresponds to a single key."""
_WITHOUT_EFFECT: Final = {
    VERSION: "one client works with brokers of every version",
    "connector.property-version": "there is one version of these options",
    "format.property-version": "there is one version of these options",
    "format.derive-schema": "the schema always follows from the table",
    PARTITIONER_CLASS: f"'{PARTITIONER}' is not custom",
}


def open_reader(table: CatalogTable) -> OptionReader:
    """The reader of a table's options, in either dialect."""
    return _Dialects(table).reader()


def _is_older(key: str) -> bool:
    return key == sink.UPDATE_MODE.key or key.startswith(_OLDER)


def _is_newer(key: str) -> bool:
    return key in ("connector", "topic", "topic-pattern", "format") or key.startswith(_NEWER)


def _enumerate(keys: Iterable[str]) -> str:
    return " and ".join(f"'{key}'" for key in keys)


@dataclass(frozen=True)
class _Dialects:
    table: CatalogTable

    @cached_property
    def written(self) -> dict[str, OptionEntry]:
        return {entry.key: entry for entry in self.table.options}

    @cached_property
    def is_legacy(self) -> bool:
        """Decided by the key that names the connector; if both are present, by the majority of keys."""
        older = sum(_is_older(key) for key in self.written)
        if "connector" in self.written:
            return TYPE in self.written and older > sum(_is_newer(key) for key in self.written)
        return older > 0

    def _is_stray(self, key: str) -> bool:
        return _is_newer(key) if self.is_legacy else _is_older(key)

    def reader(self) -> OptionReader:
        spell = self._older_key if self.is_legacy else None
        reader = OptionReader(self.table, self._entries(), spell)
        reader.problems += self._check_mixed_keys()
        if self.is_legacy:
            reader.problems += self._partitioner_problems()
            self._report_unused_keys(reader)
        return reader

    def _entries(self) -> Iterator[tuple[str, OptionEntry]]:
        """A stray key of the other dialect has its usual meaning, unless the table has the key of its own dialect."""
        own = {
            key
            for entry in self.table.options
            if not self._is_stray(entry.key)
            for key in self._current_keys(entry.key)
        }
        taken = own if self.is_legacy else own.union(self.written)
        for entry in self.table.options:
            for key in self._current_keys(entry.key):
                if not self._is_stray(entry.key) or key not in taken:
                    yield key, entry

    @property
    def _is_custom(self) -> bool:
        chosen = self.written.get(PARTITIONER)
        return chosen is not None and chosen.value.strip().lower() == "custom"

    @property
    def _is_keyed(self) -> bool:
        chosen = self.written.get(TYPE) or self.written.get("connector")
        return chosen is not None and chosen.value == upsert_kafka.IDENTIFIER

    def _current_keys(self, key: str) -> tuple[str, ...]:
        """The current keys that correspond to an older key; a current key corresponds to itself."""
        if key == FORMAT_TYPE:
            return ("key.format", "value.format") if self._is_keyed else ("format",)
        if key == PARTITIONER and (self._is_custom or not self._partitioner_is_valid):
            return ()
        if key == PARTITIONER_CLASS and self._is_custom:
            return (TODAY[PARTITIONER],)
        if key.startswith(_PROPERTIES):
            return (key.removeprefix("connector."),)
        if key.startswith(_FORMAT) and key not in _WITHOUT_EFFECT:
            chosen = self.written.get(FORMAT_TYPE) or self.written.get("format")
            part = key.removeprefix(_FORMAT)
            prefixes = ("key.", "value.") if self._is_keyed else ("",)
            return tuple(f"{prefix}{chosen.value}.{part}" for prefix in prefixes) if chosen else ()
        return (TODAY.get(key, key),)

    def _older_key(self, key: str) -> str | None:
        """The name of a current key in the older dialect; None if it has none."""
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

    def _check_mixed_keys(self) -> Iterator[Diagnostic]:
        first = TYPE if TYPE in self.written and self.is_legacy else "connector"
        if first not in self.written:
            first = next((key for key in self.written if _is_older(key) is self.is_legacy), first)
        for entry in self.table.options:
            if self._is_stray(entry.key) and entry.key != first:
                yield Diagnostic(
                    Code.CONFLICTING_OPTIONS,
                    f"options '{first}' and '{entry.key}' belong to two dialects",
                    entry.key_span,
                    detail=f"A table is described with 'connector' and its keys or with '{TYPE}' and its keys.",
                    hint=self._advise(entry.key),
                )

    def _advise(self, key: str) -> str:
        """What to do about a key of the other dialect."""
        names = self._own_names(key)
        missing = [name for name in names if name not in self.written]
        if key in _WITHOUT_EFFECT or names == (key,):
            return f"Remove it: {_WITHOUT_EFFECT.get(key, 'the connector and its format say the same')}."
        if missing:
            return f"Write {_enumerate(missing)} instead of '{key}'."
        if names:
            return f"Remove it: there is {_enumerate(names)} already."
        return "Use the keys of one of them."

    def _own_names(self, key: str) -> tuple[str, ...]:
        """The name, in the table's own dialect, of a key of the other dialect or one similar to it."""
        if self.is_legacy:
            spelt = self._older_key(key)
            return (spelt,) if spelt else ()
        if key in TODAY or key == FORMAT_TYPE or key.startswith((_PROPERTIES, _FORMAT)):
            return self._current_keys(key) or ((TODAY[key],) if key in TODAY else ())
        near = nearest_key(key, TODAY)
        return (TODAY[near],) if near else ()

    @property
    def _partitioner_is_valid(self) -> bool:
        chosen = self.written.get(PARTITIONER)
        return chosen is not None and chosen.value.strip().lower() in _PARTITIONERS

    def _partitioner_problems(self) -> Iterator[Diagnostic]:
        chosen = self.written.get(PARTITIONER)
        if chosen is not None and not self._partitioner_is_valid:
            yield Diagnostic(
                Code.INVALID_OPTION_VALUE,
                f"option '{PARTITIONER}' has an invalid value",
                chosen.value_span,
                detail=f'"{chosen.value}" is not one of {", ".join(_PARTITIONERS)}.',
            )
        if chosen is not None and self._is_custom and PARTITIONER_CLASS not in self.written:
            yield Diagnostic(
                Code.MISSING_OPTION,
                f"table \"{self.table.name}\" needs option '{PARTITIONER_CLASS}'",
                chosen.key_span,
                detail=f"'{PARTITIONER}' = 'custom' requires it.",
                hint=f"Add '{PARTITIONER_CLASS}' = 'module:Class' to its WITH clause.",
            )

    def _report_unused_keys(self, reader: OptionReader) -> None:
        for key, reason in _WITHOUT_EFFECT.items():
            if key != PARTITIONER_CLASS or not self._is_custom:
                reader.without_effect(key, reason)
        version = self.written.get(VERSION)
        if version is not None and version.value.strip() not in VERSIONS:
            reader.problems.append(
                Diagnostic(
                    Code.INVALID_OPTION_VALUE,
                    f"option '{VERSION}' has an invalid value",
                    version.value_span,
                    detail=f'"{version.value}" is not one of {", ".join(VERSIONS)}.',
                    hint="Leave it out: one client works with brokers of every version.",
                )
            )
