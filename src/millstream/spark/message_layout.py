"""Where in a message each needed column of a table is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.changelog import INSERT_ONLY, RowKind
from millstream.spark.message_parts import format_key

if TYPE_CHECKING:
    from millstream.connectors.kafka.tables import KafkaSource
    from millstream.connectors.metadata import MetadataUse
    from millstream.plan.operators.scan import Scan
    from millstream.sql.types import DataType

Columns = tuple[tuple[str, "DataType"], ...]


@dataclass(frozen=True, slots=True)
class MessageLayout:
    columns: Columns
    """The columns to read, as the table declares them; of rows, perhaps not all fields."""
    source: KafkaSource

    @classmethod
    def of(cls, scan: Scan, source: KafkaSource) -> MessageLayout:
        return cls(tuple((column.name, column.type) for column in scan.columns), source)

    @property
    def upserts(self) -> bool:
        """Whether a message is the current row of its key."""
        return RowKind.INSERT not in self.source.changelog

    @property
    def has_kinds(self) -> bool:
        return self.source.changelog != INSERT_ONLY

    @property
    def key_fields(self) -> Columns:
        """All fields of the key, by their names in the key format."""
        key = self.source.key
        return tuple((name, column.type) for name, column in zip(key.names, key.columns, strict=True))

    @property
    def value_fields(self) -> Columns:
        """As they are read: of rows, perhaps not all fields."""
        read = dict(self.columns)
        return tuple((column.name, read.get(column.name, column.type)) for column in self.source.value_columns)

    @property
    def value_columns_read(self) -> tuple[str, ...]:
        fields = dict(self.value_fields)
        return tuple(name for name, _ in self.columns if name in fields)

    @property
    def key_columns_read(self) -> tuple[str, ...]:
        """A column in both key and value is read from the value, except for tombstones, which have none."""
        return tuple(column for column, _ in self._read_from_key())

    @property
    def key_names_read(self) -> tuple[str, ...]:
        return tuple(name for _, name in self._read_from_key())

    @property
    def message_parts(self) -> tuple[MetadataUse, ...]:
        """The needed metadata that any message has, whatever its format."""
        return tuple(use for use in self._metadata() if format_key(use) is None)

    @property
    def format_parts(self) -> tuple[tuple[MetadataUse, str], ...]:
        """The needed metadata that is part of the value, each with the format's key."""
        return tuple((use, key) for use in self._metadata() if (key := format_key(use)) is not None)

    def _metadata(self) -> tuple[MetadataUse, ...]:
        needed = {name for name, _ in self.columns}
        return tuple(use for use in self.source.metadata if use.column.name in needed)

    def _read_from_key(self) -> list[tuple[str, str]]:
        needed, in_value = dict(self.columns), dict(self.value_fields)
        return [
            (column.name, name)
            for column, name in zip(self.source.key.columns, self.source.key.names, strict=True)
            if column.name in needed and (self.upserts or column.name not in in_value)
        ]
