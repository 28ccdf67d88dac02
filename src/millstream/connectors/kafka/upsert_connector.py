"""`connector` = `upsert-kafka`: a topic as a table, where the last message of a key is its row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from millstream.catalog.options import Role
from millstream.changelog import ALL_CHANGES, INSERT_ONLY, UPSERTS, RowKind
from millstream.connectors.declaration import ConnectorDeclaration
from millstream.connectors.kafka import options
from millstream.connectors.kafka import scan_options as scan
from millstream.connectors.kafka import sink_options as sink
from millstream.connectors.kafka.declared_table import judge, read_declared_table
from millstream.connectors.kafka.metadata import KAFKA_METADATA
from millstream.connectors.kafka.option_values import StartupMode, UpdateMode
from millstream.connectors.kafka.property_rules import PROPERTY_RULES
from millstream.connectors.kafka.resolution import WITHOUT_EFFECT, sink_of, source_of
from millstream.connectors.kafka.rules import TOPIC_RULES, key_fields_have_the_prefix, prefix_needs_except_key
from millstream.connectors.kafka.sink_rules import SINK_RULES, buffer_has_rows_and_interval
from millstream.connectors.kafka.source_rules import SOURCE_RULES
from millstream.connectors.kafka.tables import StartPosition
from millstream.connectors.lookup_options import IN_MEMORY, LOOKUP_OPTIONS
from millstream.errors import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.catalog.option_reader import OptionReader
    from millstream.catalog.options import ConfigOption
    from millstream.changelog import ChangelogMode
    from millstream.connectors.kafka.declared_table import DeclaredTable
    from millstream.connectors.kafka.tables import KafkaSink, KafkaSource

IDENTIFIER: Final = "upsert-kafka"
_GIVES: Final[ChangelogMode] = frozenset({RowKind.UPDATE_AFTER, RowKind.DELETE})
"""A message does not say whether it is the first of its key: normalising distinguishes inserts from updates."""
_UP_TO_DATE: Final = f"{IN_MEMORY}, and as new as the topic whenever rows are looked up"
_OPTIONS: Final[tuple[ConfigOption[Any], ...]] = (
    options.TOPIC,
    options.TOPIC_PATTERN,
    options.BOOTSTRAP_SERVERS,
    options.GROUP_ID,
    options.KEY_FORMAT,
    options.VALUE_FORMAT,
    options.KEY_FIELDS_PREFIX,
    options.FIELDS_INCLUDE,
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
    *LOOKUP_OPTIONS,
    sink.DELIVERY_GUARANTEE,
    sink.TRANSACTIONAL_ID_PREFIX,
    sink.NAMING_STRATEGY,
    sink.SINK_PARALLELISM,
    sink.FLUSH_ROWS,
    sink.FLUSH_INTERVAL,
)
DECLARATION: Final = ConnectorDeclaration(
    IDENTIFIER,
    "A Kafka topic as a table: a message is the row of its key from then on, one without value deletes it.",
    _OPTIONS,
    (sink.PARTITIONER, *sink.LEGACY_ONLY),
    gives="updates and deletes by primary key",
    takes="inserts, updates and deletes by primary key",
    is_lookup_table=True,
    metadata=KAFKA_METADATA,
    without_effect=(*WITHOUT_EFFECT, *((option.key, _UP_TO_DATE) for option in LOOKUP_OPTIONS)),
    lacks=(
        *dict.fromkeys(
            (scan.STARTUP_MODE.key, scan.STARTUP_TIMESTAMP.key, scan.STARTUP_OFFSETS.key),
            "Remove it: a table of this connector is always read from the earliest offset.",
        ).items(),
        (options.KEY_FIELDS.key, "Remove it: the columns of the PRIMARY KEY are the message key."),
        (options.FORMAT.key, "Write 'key.format' and 'value.format'."),
        (sink.PARTITIONER.key, "Remove it: the key of a row determines its partition."),
        (sink.SEMANTIC.key, "Write 'sink.delivery-guarantee'."),
    ),
)


def has_a_primary_key(table: DeclaredTable) -> Iterator[Diagnostic]:
    if not table.table.primary_key:
        yield Diagnostic(
            Code.MISSING_PRIMARY_KEY,
            f"table \"{table.table.name}\" needs a primary key, because its connector is 'upsert-kafka'",
            table.table.span,
            hint="Add PRIMARY KEY (…) NOT ENFORCED; its columns become the message key.",
        )


def primary_key_is_physical(table: DeclaredTable) -> Iterator[Diagnostic]:
    physical = {column.name for column in table.table.physical_columns}
    for name in table.table.primary_key:
        column = table.table.column(name)
        if column is not None and name not in physical:
            yield Diagnostic(
                Code.INVALID_PRIMARY_KEY,
                f'primary key column "{name}" is not a physical column, so it cannot be in the message key',
                column.span,
            )


def check_formats(table: DeclaredTable) -> Iterator[Diagnostic]:
    """In the older dialect one key names both formats, so it is reported once if it is missing."""
    wanted = {table.reader.written_key(option.key): option for option in (options.VALUE_FORMAT, options.KEY_FORMAT)}
    for option in wanted.values():
        if not table.reader.has(option.key):
            yield table.reader.missing(option)


def formats_are_insert_only(table: DeclaredTable) -> Iterator[Diagnostic]:
    for option, found in ((options.KEY_FORMAT, table.key_format), (options.VALUE_FORMAT, table.value_format)):
        if found is not None and found.changelog != INSERT_ONLY:
            yield Diagnostic(
                Code.CONFLICTING_OPTIONS,
                f"connector 'upsert-kafka' cannot use format '{found.name}'",
                table.reader.value_place(option.key),
                detail="The messages of an upsert topic are rows, and this format writes changes.",
                hint="Use json, avro or csv here, or 'connector' = 'kafka' with this format.",
            )


RULES: Final = (
    has_a_primary_key,
    primary_key_is_physical,
    *TOPIC_RULES,
    *PROPERTY_RULES,
    check_formats,
    formats_are_insert_only,
    key_fields_have_the_prefix,
    prefix_needs_except_key,
)


def resolve_source(reader: OptionReader) -> KafkaSource:
    table = read_declared_table(DECLARATION, reader, reader.table.primary_key, Role.SOURCE)
    judge(table, (*RULES, *SOURCE_RULES))
    notices = reader.finish(IDENTIFIER)
    return source_of(table, StartPosition(StartupMode.EARLIEST), _GIVES, notices)


def resolve_sink(reader: OptionReader) -> KafkaSink:
    table = read_declared_table(DECLARATION, reader, reader.table.primary_key, Role.SINK)
    judge(table, (*RULES, *SINK_RULES, buffer_has_rows_and_interval))
    notices = reader.finish(IDENTIFIER)
    return sink_of(table, _sink_changelog(table), notices)


def _sink_changelog(table: DeclaredTable) -> ChangelogMode:
    match table.value(sink.UPDATE_MODE):
        case UpdateMode.APPEND:
            return INSERT_ONLY
        case UpdateMode.RETRACT:
            return ALL_CHANGES
        case _:
            return UPSERTS
