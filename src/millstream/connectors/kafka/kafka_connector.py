"""`connector` = `kafka`: a topic as a stream of inserts, or of the changes that its format carries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from millstream.catalog.options import Role
from millstream.changelog import ALL_CHANGES, INSERT_ONLY, UPSERTS
from millstream.connectors.declaration import ConnectorDeclaration
from millstream.connectors.kafka import options
from millstream.connectors.kafka import scan_options as scan
from millstream.connectors.kafka import sink_options as sink
from millstream.connectors.kafka.declared_table import judge, read_declared_table
from millstream.connectors.kafka.metadata import KAFKA_METADATA
from millstream.connectors.kafka.option_values import StartupMode, UpdateMode
from millstream.connectors.kafka.property_rules import PROPERTY_RULES
from millstream.connectors.kafka.resolution import WITHOUT_EFFECT, sink_of, source_of
from millstream.connectors.kafka.rules import KEY_RULES, TOPIC_RULES, check_format, primary_key_needs_changes
from millstream.connectors.kafka.sink_rules import SINK_RULES, round_robin_has_no_key
from millstream.connectors.kafka.source_rules import SOURCE_RULES
from millstream.connectors.kafka.tables import KeyFields, StartPosition
from millstream.formats.registry import read_format

if TYPE_CHECKING:
    from millstream.catalog.option_reader import OptionReader
    from millstream.changelog import ChangelogMode
    from millstream.connectors.kafka.declared_table import DeclaredTable
    from millstream.connectors.kafka.tables import KafkaSink, KafkaSource

IDENTIFIER: Final = "kafka"
DECLARATION: Final = ConnectorDeclaration(
    IDENTIFIER,
    "A Kafka topic: each message is a row, or a change of one where its format says so.",
    (
        options.TOPIC,
        options.TOPIC_PATTERN,
        options.BOOTSTRAP_SERVERS,
        options.GROUP_ID,
        options.FORMAT,
        options.VALUE_FORMAT,
        options.KEY_FORMAT,
        options.KEY_FIELDS,
        options.KEY_FIELDS_PREFIX,
        options.FIELDS_INCLUDE,
        scan.STARTUP_MODE,
        scan.STARTUP_TIMESTAMP,
        scan.STARTUP_OFFSETS,
        scan.BOUNDED_MODE,
        scan.BOUNDED_TIMESTAMP,
        scan.BOUNDED_OFFSETS,
        scan.DISCOVERY_INTERVAL,
        scan.SCAN_PARALLELISM,
        scan.MAX_BATCH_RECORDS,
        scan.FAIL_ON_DATA_LOSS,
        scan.DEAD_LETTER_TOPIC,
        scan.WATERMARK_EMIT,
        scan.WATERMARK_GAP,
        scan.WATERMARK_IDLE,
        scan.WATERMARK_GROUP,
        scan.WATERMARK_DRIFT,
        scan.WATERMARK_UPDATE,
        sink.PARTITIONER,
        sink.DELIVERY_GUARANTEE,
        sink.SEMANTIC,
        sink.TRANSACTIONAL_ID_PREFIX,
        sink.NAMING_STRATEGY,
        sink.SINK_PARALLELISM,
    ),
    sink.LEGACY_ONLY,
    gives="inserts, or the changes of its value format",
    takes="inserts, or the changes of its value format",
    metadata=KAFKA_METADATA,
    without_effect=WITHOUT_EFFECT,
    lacks=tuple(
        (option.key, "Remove it: only connector 'upsert-kafka' gathers rows before it writes them.")
        for option in (sink.FLUSH_ROWS, sink.FLUSH_INTERVAL)
    ),
)
RULES: Final = (*TOPIC_RULES, *PROPERTY_RULES, check_format, *KEY_RULES)


def resolve_source(reader: OptionReader) -> KafkaSource:
    table = _declare(reader, Role.SOURCE)
    judge(table, (*RULES, primary_key_needs_changes, *SOURCE_RULES))
    notices = reader.finish(IDENTIFIER)
    assert table.value_format is not None
    return source_of(table, _start(table), table.value_format.changelog, notices)


def resolve_sink(reader: OptionReader) -> KafkaSink:
    table = _declare(reader, Role.SINK)
    judge(table, (*RULES, *SINK_RULES, round_robin_has_no_key))
    by_key = _is_written_by_key(table)
    if by_key:
        table = _with_key(table)
    else:
        judge(table, (primary_key_needs_changes,))
    notices = reader.finish(IDENTIFIER)
    return sink_of(table, _sink_changelog(table, by_key=by_key), notices)


def _is_written_by_key(table: DeclaredTable) -> bool:
    """In the older dialect, 'update-mode' makes an insert-only format encode changes like an upsert-kafka table."""
    mode = table.value(sink.UPDATE_MODE)
    has_changes = mode in (UpdateMode.RETRACT, UpdateMode.UPSERT) and not table.carries_changes
    return has_changes and bool(table.table.primary_key)


def _with_key(table: DeclaredTable) -> DeclaredTable:
    """The primary key becomes the message key, in the format of the value."""
    physical = {column.name: column for column in table.table.physical_columns}
    columns = tuple(physical[name] for name in table.table.primary_key if name in physical)
    key_format = read_format(table.reader, options.FORMAT, "", columns, Role.SINK)
    return replace(table, key=KeyFields(columns, tuple(column.name for column in columns)), key_format=key_format)


def _sink_changelog(table: DeclaredTable, *, by_key: bool) -> ChangelogMode:
    assert table.value_format is not None
    mode = table.value(sink.UPDATE_MODE)
    if mode is UpdateMode.APPEND:
        return INSERT_ONLY
    if by_key:
        return UPSERTS if mode is UpdateMode.UPSERT else ALL_CHANGES
    return table.value_format.changelog


def _declare(reader: OptionReader, role: Role) -> DeclaredTable:
    return read_declared_table(DECLARATION, reader, reader.get(options.KEY_FIELDS) or (), role)


def _start(table: DeclaredTable) -> StartPosition:
    mode = table.value(scan.STARTUP_MODE)
    unsaid = StartupMode.GROUP if "group.id" in table.properties else StartupMode.EARLIEST
    return StartPosition(
        mode or unsaid,
        table.value(scan.STARTUP_TIMESTAMP),
        table.value(scan.STARTUP_OFFSETS) or (),
        chosen=mode is not None,
    )
