"""Rules for Kafka sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.connectors.kafka.metadata import HEADER_LIST, HEADERS
from millstream.connectors.kafka.metadata import TOPIC as TOPIC_PART
from millstream.connectors.kafka.option_values import MISPRINT, DeliveryGuarantee, Partitioning, UpdateMode
from millstream.connectors.kafka.options import FORMAT, KEY_FIELDS, TOPIC, TOPIC_PATTERN
from millstream.connectors.kafka.sink_options import (
    DELIVERY_GUARANTEE,
    FLUSH_INTERVAL,
    FLUSH_ROWS,
    PARTITIONER,
    SEMANTIC,
    TRANSACTIONAL_ID_PREFIX,
    UPDATE_MODE,
)
from millstream.connectors.metadata import unwritable
from millstream.errors import Code, Diagnostic
from millstream.formats.confluent_format import SUBJECT, ConfluentAvroFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.connectors.kafka.declared_table import DeclaredTable


def one_topic_or_a_column_naming_it(declared: DeclaredTable) -> Iterator[Diagnostic]:
    named = any(column.key == TOPIC_PART.key and not column.is_virtual for column in declared.table.metadata_columns)
    is_told_already = declared.topics and declared.topic_pattern is not None
    if not declared.has_many_topics or named or is_told_already:
        return
    at = TOPIC.key if declared.topics else TOPIC_PATTERN.key
    yield declared.reader.problem(
        Code.CONFLICTING_OPTIONS,
        f'table "{declared.table.name}" is written to, so it needs exactly one topic, or a column that names it',
        at,
        hint="Name one topic, or add a column `topic` STRING METADATA that names the topic of each row.",
    )


def a_registry_knows_the_subject(declared: DeclaredTable) -> Iterator[Diagnostic]:
    """A single topic determines the subject of its schemas; several do not."""
    under = "" if declared.reader.has(FORMAT.key) and FORMAT in declared.connector.options else "value."
    for prefix, found in (("key.", declared.key_format), (under, declared.value_format)):
        if declared.has_many_topics and isinstance(found, ConfluentAvroFormat) and found.options.subject is None:
            yield Diagnostic(
                Code.MISSING_OPTION,
                f"table \"{declared.table.name}\" needs option '{prefix}{found.name}.{SUBJECT.key}'",
                declared.table.span,
                detail="Its messages go to several topics, so the subject cannot be derived from a topic.",
                hint=f"Add '{prefix}{found.name}.{SUBJECT.key}' = '…' to its WITH clause. {SUBJECT.doc}",
            )


def round_robin_has_no_key(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    chosen = declared.value(PARTITIONER)
    if chosen is not None and chosen.kind is Partitioning.ROUND_ROBIN and reader.has(KEY_FIELDS.key):
        yield reader.problem(
            Code.CONFLICTING_OPTIONS,
            f"partitioner round-robin cannot be used with option '{KEY_FIELDS.key}'",
            PARTITIONER.key,
            detail="The key of a message determines its partition.",
            hint=f"Remove '{PARTITIONER.key}', or '{KEY_FIELDS.key}' and its format.",
        )


def check_java_partitioner(declared: DeclaredTable) -> Iterator[Diagnostic]:
    chosen = declared.value(PARTITIONER)
    if chosen is not None and chosen.kind is Partitioning.CUSTOM and not chosen.is_python:
        declared.reader.tell(
            f"partitioner '{chosen.implementation}' of table \"{declared.table.name}\" is a Java class, and none is "
            "loaded here: to run, name a Python class as 'module:Class'",
            PARTITIONER.key,
        )
    yield from ()


def transactions_need_a_prefix(declared: DeclaredTable) -> Iterator[Diagnostic]:
    """`sink.semantic` is older than the prefix: with it the table's name is used instead, with a notice."""
    reader = declared.reader
    if reader.has(TRANSACTIONAL_ID_PREFIX.key):
        return
    if declared.value(SEMANTIC) is DeliveryGuarantee.EXACTLY_ONCE:
        reader.tell(
            f"table \"{declared.table.name}\" has no '{TRANSACTIONAL_ID_PREFIX.key}': "
            f'the ids of its transactions begin with "{default_prefix(declared)}"',
            SEMANTIC.key,
        )
    elif declared.value(SEMANTIC) is None and declared.value(DELIVERY_GUARANTEE) is DeliveryGuarantee.EXACTLY_ONCE:
        yield reader.missing(TRANSACTIONAL_ID_PREFIX, f"'{DELIVERY_GUARANTEE.key}' = 'exactly-once' requires it.")


def default_prefix(declared: DeclaredTable) -> str:
    return f"millstream-{declared.table.name}"


def check_legacy_guarantee(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    for option in (SEMANTIC, DELIVERY_GUARANTEE):
        if (reader.raw(option.key) or "").strip().lower().replace("_", "-") == MISPRINT:
            reader.tell(f"option '{option.key}': '{MISPRINT}' is taken as at-least-once", option.key)
    if reader.has(SEMANTIC.key):
        reader.tell(f"option '{SEMANTIC.key}' is the older name of '{DELIVERY_GUARANTEE.key}'", SEMANTIC.key)
        reader.without_effect(DELIVERY_GUARANTEE.key, f"'{SEMANTIC.key}' is given, and takes precedence")
    yield from ()


def buffer_has_rows_and_interval(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    rows, interval = declared.value(FLUSH_ROWS), declared.value(FLUSH_INTERVAL)
    if bool(rows) != bool(interval):
        yield reader.problem(
            Code.CONFLICTING_OPTIONS,
            f"options '{FLUSH_ROWS.key}' and '{FLUSH_INTERVAL.key}' must both be above zero, or neither",
            FLUSH_ROWS.key if reader.has(FLUSH_ROWS.key) else FLUSH_INTERVAL.key,
            hint=f"Give both, e.g. '{FLUSH_ROWS.key}' = '1000' and '{FLUSH_INTERVAL.key}' = '1 s'.",
        )


def update_mode_fits_the_table(declared: DeclaredTable) -> Iterator[Diagnostic]:
    table = declared.table
    if declared.value(UPDATE_MODE) is UpdateMode.UPSERT and not table.primary_key:
        yield declared.reader.problem(
            Code.MISSING_PRIMARY_KEY,
            f"table \"{table.name}\" needs a primary key, because its '{UPDATE_MODE.key}' is upsert",
            UPDATE_MODE.key,
            hint="Add PRIMARY KEY (…) NOT ENFORCED.",
        )


def metadata_is_writable(declared: DeclaredTable) -> Iterator[Diagnostic]:
    yield from unwritable(declared.table, declared.parts)


def headers_are_written_once(declared: DeclaredTable) -> Iterator[Diagnostic]:
    written = [column for column in declared.table.metadata_columns if not column.is_virtual]
    chosen = {column.key: column for column in written if column.key in (HEADERS.key, HEADER_LIST.key)}
    if len(chosen) > 1:
        yield Diagnostic(
            Code.INVALID_METADATA,
            f"metadata '{HEADERS.key}' and '{HEADER_LIST.key}' cannot both be written",
            chosen[HEADER_LIST.key].span,
            hint="Declare one of them as METADATA VIRTUAL.",
        )


SINK_RULES: Final = (
    one_topic_or_a_column_naming_it,
    a_registry_knows_the_subject,
    check_java_partitioner,
    transactions_need_a_prefix,
    check_legacy_guarantee,
    update_mode_fits_the_table,
    metadata_is_writable,
    headers_are_written_once,
)
