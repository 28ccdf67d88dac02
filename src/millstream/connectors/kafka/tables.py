"""Kafka tables with their options resolved: everything that reading and writing needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from millstream.catalog.options import is_java_only
from millstream.changelog import INSERT_ONLY, RowKind
from millstream.connectors.kafka.custom_partitioner import partitioner_problems
from millstream.connectors.kafka.metadata import OF_THE_VALUE, is_read_as_declared
from millstream.connectors.kafka.not_yet import find_connections_of_java, find_patterns_of_java
from millstream.connectors.kafka.option_values import (
    DEFAULT_PARTITIONER,
    DeliveryGuarantee,
    NamingStrategy,
    Partitioner,
    Partitioning,
    StartupMode,
    UpdateMode,
)
from millstream.connectors.tables import OrdinarySink, OrdinarySource
from millstream.formats.json_format import JsonFormat

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from millstream.catalog.option_places import OptionPlaces
    from millstream.catalog.option_reader import Notice
    from millstream.catalog.table import CatalogTable
    from millstream.changelog import ChangelogMode
    from millstream.connectors.kafka.dead_letters import DeadLetterTopic
    from millstream.connectors.kafka.option_values import BoundedMode
    from millstream.connectors.metadata import MetadataUse
    from millstream.errors import Diagnostic
    from millstream.formats.registry import Format
    from millstream.sql.statements import PhysicalColumn


@dataclass(frozen=True, slots=True)
class StartPosition:
    """Where a new job starts to read."""

    mode: StartupMode
    timestamp: int | None = None
    offsets: tuple[tuple[int, int], ...] = ()
    chosen: bool = True
    """False if the script does not say: then a notice tells the user which one was chosen."""


@dataclass(frozen=True, slots=True)
class EndPosition:
    """Where a bounded scan ends; offsets are exclusive."""

    mode: BoundedMode
    timestamp: int | None = None
    offsets: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class KeyFields:
    """The message key: the table's columns in the key's order, and their names in the key format."""

    columns: tuple[PhysicalColumn, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BufferFlush:
    """Changes are buffered per key until there are `rows` keys or `interval` has passed."""

    rows: int
    interval: timedelta


@dataclass(frozen=True, slots=True)
class Delivery:
    guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE
    transactional_id_prefix: str | None = None
    """Always set with exactly-once."""
    naming: NamingStrategy = NamingStrategy.INCREMENTING


@dataclass(frozen=True, slots=True)
class KafkaSource(OrdinarySource):
    """Reads rows from `topics`, or from all topics that match `topic_pattern`."""

    table: CatalogTable
    topics: tuple[str, ...]
    properties: dict[str, str] = field(repr=False)
    value_format: Format
    start: StartPosition
    changelog: ChangelogMode = INSERT_ONLY
    connector: str = "kafka"
    topic_pattern: str | None = None
    key_format: Format | None = None
    key: KeyFields = KeyFields()
    value_columns: tuple[PhysicalColumn, ...] = ()
    metadata: tuple[MetadataUse, ...] = ()
    end: EndPosition | None = None
    discovery: timedelta = timedelta(0)
    """How often to look for new partitions; zero for never."""
    parallelism: int | None = None
    idle_timeout: timedelta | None = None
    max_batch_records: int | None = None
    """The maximum size of a batch over all partitions; None for the job's own limit."""
    fails_on_data_loss: bool = True
    dead_letters: DeadLetterTopic | None = None
    """Where unreadable messages go; None to fail on the first one."""
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    places: OptionPlaces = field(kw_only=True, compare=False, repr=False)

    @property
    def summary(self) -> str:
        """As EXPLAIN shows it."""
        return f"format=[{self.value_format.name}]"

    @property
    def reads(self) -> str:
        """What a checkpoint's positions belong to."""
        return self.topic_pattern or ", ".join(self.topics)

    @property
    def group(self) -> str | None:
        return self.properties.get("group.id")

    @property
    def reads_all_there_is(self) -> bool:
        """Whether the script asks for the earliest offsets and no end: then Spark needs no positions from us."""
        return self.start.mode is StartupMode.EARLIEST and self.start.chosen and self.end is None

    @property
    def reads_committed(self) -> bool:
        """Whether messages of open and aborted transactions are skipped."""
        return self.properties.get("isolation.level", "").strip().lower() == "read_committed"

    @property
    def has_dead_letters(self) -> bool:
        return self.dead_letters is not None

    @property
    def is_bounded(self) -> bool:
        return self.end is not None

    @property
    def obstacle_to_lookup(self) -> str | None:
        """A message must be the current row of its key, and each worker reads all of them."""
        if RowKind.INSERT in self.changelog:
            return "Its messages are events, and not the current rows of their keys."
        if self.dead_letters is not None:
            return "Its unreadable messages would be set aside by each worker that reads them."
        if self.end is not None:
            return "It is bounded, and rows are looked up as they are at the moment."
        if not self.gives_rows_in_python(self.table.column_names) or not self.is_read_in_python:
            return "Its topics or its metadata can only be read by Spark."
        return None

    @property
    def decoding(self) -> str | None:
        key = f"key {self.key_format.name}, value " if self.key_format is not None else ""
        return f"{key}{self.value_format.name} [Python]"

    @property
    def is_read_in_python(self) -> bool:
        """Whether workers read the topics: Spark does where a pattern is one that only Java can match."""
        return self.topic_pattern is None or not is_java_only(self.topic_pattern)

    def gives_rows_in_python(self, columns: Collection[str]) -> bool:
        """Some metadata is converted by Spark, and Arrow does not count rows without columns."""
        converted = (use for use in self.metadata if use.column.name in columns and self._is_converted(use))
        return bool(columns) and not any(converted)

    def decodes_fields_alone(self, column: str) -> bool:
        """JSON that is not read is skipped; where fields may not be missing, all are looked for."""
        in_key = any(key.name == column for key in self.key.columns)
        in_value = any(value.name == column for value in self.value_columns)
        format_ = self.value_format
        return in_value and not in_key and isinstance(format_, JsonFormat) and not format_.options.fail_on_missing_field

    def _is_converted(self, use: MetadataUse) -> bool:
        """After the rows are made; otherwise Spark does so before."""
        return not is_read_as_declared(use) if self.is_read_in_python else use.key.startswith(OF_THE_VALUE)

    def find_unsupported(self) -> Iterable[Diagnostic]:
        return (*find_connections_of_java(self), *find_patterns_of_java(self))


@dataclass(frozen=True, slots=True)
class KafkaSink(OrdinarySink):
    """Writes rows to the only one of `topics`, or to the topic in the metadata column `topic`."""

    table: CatalogTable
    topics: tuple[str, ...]
    properties: dict[str, str] = field(repr=False)
    value_format: Format
    key_format: Format | None
    key: KeyFields
    value_columns: tuple[PhysicalColumn, ...]
    accepts: ChangelogMode
    connector: str
    topic_pattern: str | None = None
    metadata: tuple[MetadataUse, ...] = ()
    partitioner: Partitioner = DEFAULT_PARTITIONER
    delivery: Delivery = Delivery()
    parallelism: int | None = None
    buffer_flush: BufferFlush | None = None
    ignore_retraction: bool = False
    update_mode: UpdateMode | None = None
    notices: tuple[Notice, ...] = field(default=(), compare=False)
    places: OptionPlaces = field(kw_only=True, compare=False, repr=False)

    is_kafka: ClassVar = True

    @property
    def topic(self) -> str:
        return self.topics[0]

    @property
    def folds_changes(self) -> bool:
        by_key = self.value_format.changelog == INSERT_ONLY and self.update_mode is not UpdateMode.RETRACT
        return by_key and not self.ignore_retraction

    @property
    def depends_on_tasks(self) -> bool:
        return self.parallelism is None and self.partitioner.kind in (Partitioning.FIXED, Partitioning.CUSTOM)

    @property
    def encodes_in_python(self) -> bool:
        return not (self.metadata or self.ignore_retraction)

    @property
    def key_columns(self) -> tuple[PhysicalColumn, ...]:
        return self.key.columns

    @property
    def exchange_keys(self) -> tuple[str, ...]:
        return self.table.primary_key or tuple(column.name for column in self.key_columns)

    @property
    def is_exactly_once(self) -> bool:
        return self.delivery.guarantee is DeliveryGuarantee.EXACTLY_ONCE

    @property
    def retracts_by_key(self) -> bool:
        return self.update_mode is UpdateMode.RETRACT

    def find_unsupported(self) -> Iterable[Diagnostic]:
        return find_connections_of_java(self)

    def find_problems_here(self) -> Iterable[Diagnostic]:
        return partitioner_problems(self)
