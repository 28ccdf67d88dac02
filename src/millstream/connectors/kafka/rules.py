"""Rules between options that both sources and sinks of Kafka have. Each rule is a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.changelog import INSERT_ONLY, letters
from millstream.connectors.kafka.option_values import FieldsInclude
from millstream.connectors.kafka.options import (
    BOOTSTRAP_SERVERS,
    FIELDS_INCLUDE,
    FORMAT,
    KEY_FIELDS,
    KEY_FIELDS_PREFIX,
    KEY_FORMAT,
    TOPIC,
    TOPIC_PATTERN,
    VALUE_FORMAT,
)
from millstream.errors import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.connectors.kafka.declared_table import DeclaredTable


def check_brokers(declared: DeclaredTable) -> Iterator[Diagnostic]:
    if not declared.reader.has(BOOTSTRAP_SERVERS.key):
        yield declared.reader.missing(BOOTSTRAP_SERVERS)


def topic_or_pattern(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    topic, pattern = reader.written_key(TOPIC.key), reader.written_key(TOPIC_PATTERN.key)
    if reader.has(TOPIC.key) and reader.has(TOPIC_PATTERN.key):
        yield reader.problem(
            Code.CONFLICTING_OPTIONS,
            f"options '{topic}' and '{pattern}' cannot both be given",
            TOPIC_PATTERN.key,
            hint="Remove one of them.",
        )
    elif not reader.has(TOPIC.key) and not reader.has(TOPIC_PATTERN.key):
        yield reader.missing(TOPIC, f"It names its topics with '{topic}' or '{pattern}'.")


def check_format(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    if not reader.has(FORMAT.key) and not reader.has(VALUE_FORMAT.key):
        yield reader.missing(FORMAT)


def key_fields_need_a_format(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    if declared.key_names and not reader.has(KEY_FORMAT.key):
        yield reader.problem(
            Code.MISSING_OPTION,
            f"option '{KEY_FIELDS.key}' needs option '{KEY_FORMAT.key}'",
            KEY_FIELDS.key,
            hint=f"Add '{KEY_FORMAT.key}' = 'json' to its WITH clause. {KEY_FORMAT.doc}",
        )


def key_format_needs_fields(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    if reader.has(KEY_FORMAT.key) and not declared.key_names and not reader.has(KEY_FIELDS.key):
        yield reader.problem(
            Code.MISSING_OPTION,
            f"option '{KEY_FORMAT.key}' needs option '{KEY_FIELDS.key}'",
            KEY_FORMAT.key,
            hint=f"Add '{KEY_FIELDS.key}' = '…' to its WITH clause. {KEY_FIELDS.doc}",
        )


def key_fields_are_columns(declared: DeclaredTable) -> Iterator[Diagnostic]:
    physical = [column.name for column in declared.table.physical_columns]
    for name in declared.key_names:
        if name not in physical:
            yield Diagnostic(
                Code.INVALID_OPTION_VALUE,
                f'key field "{name}" is not a physical column of table "{declared.table.name}"',
                declared.reader.value_place(KEY_FIELDS.key),
                detail=f"Columns that can be key fields: {', '.join(physical)}.",
            )
    for name in dict.fromkeys(name for name in declared.key_names if declared.key_names.count(name) > 1):
        yield Diagnostic(
            Code.INVALID_OPTION_VALUE,
            f'key field "{name}" is named twice',
            declared.reader.value_place(KEY_FIELDS.key),
        )


def key_fields_have_the_prefix(declared: DeclaredTable) -> Iterator[Diagnostic]:
    prefix = declared.value(KEY_FIELDS_PREFIX) or ""
    for name in declared.key_names:
        if not name.startswith(prefix):
            yield Diagnostic(
                Code.CONFLICTING_OPTIONS,
                f"key field \"{name}\" does not begin with the prefix '{prefix}'",
                declared.reader.value_place(KEY_FIELDS_PREFIX.key),
                detail=f"Every column of the key begins with what '{KEY_FIELDS_PREFIX.key}' says.",
                hint=f'Rename the column to "{prefix}{name}", or remove the prefix.',
            )


def prefix_needs_except_key(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    if declared.value(KEY_FIELDS_PREFIX) and declared.value(FIELDS_INCLUDE) is FieldsInclude.ALL:
        yield reader.problem(
            Code.CONFLICTING_OPTIONS,
            f"option '{KEY_FIELDS_PREFIX.key}' needs '{FIELDS_INCLUDE.key}' = '{FieldsInclude.EXCEPT_KEY}'",
            KEY_FIELDS_PREFIX.key,
            detail="Where the value has the key's columns too, their names would be ambiguous.",
            hint=f"Add '{FIELDS_INCLUDE.key}' = '{FieldsInclude.EXCEPT_KEY}'.",
        )


def key_format_is_insert_only(declared: DeclaredTable) -> Iterator[Diagnostic]:
    found = declared.key_format
    if found is not None and found.changelog != INSERT_ONLY:
        yield Diagnostic(
            Code.CONFLICTING_OPTIONS,
            f"format '{found.name}' cannot be the format of a key",
            declared.reader.value_place(KEY_FORMAT.key),
            detail=f"A key cannot describe changes, but this format carries [{letters(found.changelog)}].",
            hint="Use json, avro, csv or raw.",
        )


def primary_key_needs_changes(declared: DeclaredTable) -> Iterator[Diagnostic]:
    """An insert-only topic cannot keep a key unique. The older dialect allows the clause, with a notice."""
    table, reader = declared.table, declared.reader
    if not table.primary_key or declared.carries_changes or declared.value_format is None:
        return
    if reader.is_legacy:
        reader.tell(f'the primary key of table "{table.name}" has no effect: its messages are inserts', "connector")
        return
    yield reader.problem(
        Code.CONFLICTING_OPTIONS,
        f"connector 'kafka' does not support a primary key, but table \"{table.name}\" declares one",
        "connector",
        hint="Use 'connector' = 'upsert-kafka', or remove the PRIMARY KEY.",
    )


TOPIC_RULES = (check_brokers, topic_or_pattern)
KEY_RULES = (
    key_fields_need_a_format,
    key_format_needs_fields,
    key_fields_are_columns,
    key_fields_have_the_prefix,
    prefix_needs_except_key,
    key_format_is_insert_only,
)
