"""What the Kafka connectors make of a table's options: all that reading or writing needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.changelog import INSERT_ONLY

if TYPE_CHECKING:
    from millstream.catalog.table import CatalogTable
    from millstream.changelog import ChangelogMode
    from millstream.connectors.kafka_options import StartupMode
    from millstream.formats.declarations import Format
    from millstream.sql.statements import PhysicalColumn


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Where a new job begins to read."""

    mode: StartupMode
    timestamp: int | None = None
    offsets: tuple[tuple[int, int], ...] = ()
    chosen: bool = True
    """False when the script says nothing: then the choice made is told to the user."""


@dataclass(frozen=True, slots=True)
class KafkaSource:
    table: CatalogTable
    topics: tuple[str, ...]
    properties: dict[str, str]
    value_format: Format
    start: StartPosition
    changelog: ChangelogMode = INSERT_ONLY
    is_bounded: bool = False

    @property
    def summary(self) -> str:
        """As EXPLAIN shows it."""
        return f"format=[{self.value_format.name}]"

    @property
    def reads(self) -> str:
        """What a checkpoint's positions belong to."""
        return ", ".join(self.topics)

    @property
    def group(self) -> str | None:
        return self.properties.get("group.id")


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """A topic that rows are written to; keyed by the primary key when `key_format` is there."""

    table: CatalogTable
    topic: str
    properties: dict[str, str]
    value_format: Format
    key_format: Format | None
    key_columns: tuple[PhysicalColumn, ...]
    value_columns: tuple[PhysicalColumn, ...]
    accepts: ChangelogMode
    connector: str
