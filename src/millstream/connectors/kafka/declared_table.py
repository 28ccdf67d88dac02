"""A Kafka table whose options have been read but not checked yet: what the rules examine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from millstream.catalog.options import Role
from millstream.changelog import INSERT_ONLY
from millstream.connectors.kafka.metadata import message_parts
from millstream.connectors.kafka.option_values import FieldsInclude
from millstream.connectors.kafka.options import (
    FIELDS_INCLUDE,
    FORMAT,
    KEY_FIELDS_PREFIX,
    KEY_FORMAT,
    PROPERTIES,
    TOPIC,
    TOPIC_PATTERN,
    VALUE_FORMAT,
)
from millstream.connectors.kafka.tables import KeyFields
from millstream.formats.registry import read_format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from millstream.catalog.option_reader import OptionReader
    from millstream.catalog.options import ConfigOption
    from millstream.catalog.table import CatalogTable
    from millstream.connectors.declaration import ConnectorDeclaration
    from millstream.connectors.metadata import MessagePart
    from millstream.errors import Diagnostic
    from millstream.formats.registry import Format
    from millstream.sql.statements import PhysicalColumn

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DeclaredTable:
    connector: ConnectorDeclaration
    reader: OptionReader
    key_names: tuple[str, ...]
    """The columns of the message key by name, whether they exist or not."""
    key: KeyFields
    value_columns: tuple[PhysicalColumn, ...]
    key_format: Format | None
    value_format: Format | None
    topics: tuple[str, ...]
    topic_pattern: str | None
    properties: dict[str, str]

    @property
    def table(self) -> CatalogTable:
        return self.reader.table

    def value(self, option: ConfigOption[T]) -> T | None:
        """An option's value; its default if the connector, or this dialect of it, has no such option."""
        has_it = option in self.connector.options or (self.reader.is_legacy and option in self.connector.legacy_options)
        return self.reader.get(option) if has_it else option.default

    @property
    def has_many_topics(self) -> bool:
        return len(self.topics) > 1 or self.topic_pattern is not None

    @property
    def carries_changes(self) -> bool:
        return self.value_format is not None and self.value_format.changelog != INSERT_ONLY

    @property
    def parts(self) -> dict[str, MessagePart]:
        return message_parts(self.value_format, many_topics=self.has_many_topics)


def judge(declared: DeclaredTable, rules: Iterable[Callable[[DeclaredTable], Iterator[Diagnostic]]]) -> None:
    for rule in rules:
        declared.reader.problems += rule(declared)


def read_declared_table(
    connector: ConnectorDeclaration, reader: OptionReader, key_names: tuple[str, ...], role: Role
) -> DeclaredTable:
    """Reads all options; those that cannot be read are among the reader's problems."""
    reader.read(connector.options)
    if reader.is_legacy:
        reader.read(connector.legacy_options)
    reader.explain_lack(connector.lacks)
    idle = dict(connector.without_effect)
    for option in connector.options:
        if option.key in idle and option.role in (role, Role.BOTH):
            reader.without_effect(option.key, idle[option.key])
    physical = {column.name: column for column in reader.table.physical_columns}
    prefix = reader.get(KEY_FIELDS_PREFIX) or ""
    columns = tuple(physical[name] for name in key_names if name in physical)
    key = KeyFields(columns, tuple(column.name.removeprefix(prefix) for column in columns))
    value_columns = tuple(
        column
        for column in physical.values()
        if reader.get(FIELDS_INCLUDE) is FieldsInclude.ALL or column not in columns
    )
    return DeclaredTable(
        connector,
        reader,
        key_names,
        key,
        value_columns,
        read_format(reader, KEY_FORMAT, "key.", columns, role),
        _value_format(connector, reader, value_columns, role),
        reader.get(TOPIC) or (),
        reader.get(TOPIC_PATTERN),
        reader.with_prefix(PROPERTIES),
    )


def _value_format(
    connector: ConnectorDeclaration, reader: OptionReader, columns: tuple[PhysicalColumn, ...], role: Role
) -> Format | None:
    if FORMAT not in connector.options or not reader.has(FORMAT.key):
        return read_format(reader, VALUE_FORMAT, "value.", columns, role)
    if reader.has(VALUE_FORMAT.key):
        read_format(reader, VALUE_FORMAT, "value.", (), Role.BOTH)
        reader.without_effect(VALUE_FORMAT.key, f"'{reader.written_key(FORMAT.key)}' is given, and takes precedence")
    return read_format(reader, FORMAT, "", columns, role)
