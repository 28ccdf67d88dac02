"""Rules for Kafka sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.catalog.options import is_java_only, python_regex
from millstream.connectors.kafka.option_values import BoundedMode, StartupMode
from millstream.connectors.kafka.options import GROUP_ID, PROPERTIES, TOPIC_PATTERN
from millstream.connectors.kafka.scan_options import (
    BOUNDED_MODE,
    BOUNDED_OFFSETS,
    BOUNDED_TIMESTAMP,
    DEAD_LETTER_TOPIC,
    STARTUP_MODE,
    STARTUP_OFFSETS,
    STARTUP_TIMESTAMP,
)
from millstream.connectors.metadata import unreadable
from millstream.errors import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from millstream.catalog.options import ConfigOption
    from millstream.connectors.kafka.declared_table import DeclaredTable

_RESET: Final = f"{PROPERTIES}auto.offset.reset"
_RESETS: Final = ("earliest", "latest", "none")
_AUTO_COMMIT: Final = f"{PROPERTIES}enable.auto.commit"
_MODES: Final[tuple[ConfigOption[Any], ...]] = (STARTUP_MODE, BOUNDED_MODE)
_ASKED_FOR: Final[tuple[tuple[ConfigOption[Any], StartupMode | BoundedMode, ConfigOption[Any]], ...]] = (
    (STARTUP_MODE, StartupMode.TIMESTAMP, STARTUP_TIMESTAMP),
    (STARTUP_MODE, StartupMode.SPECIFIC, STARTUP_OFFSETS),
    (BOUNDED_MODE, BoundedMode.TIMESTAMP, BOUNDED_TIMESTAMP),
    (BOUNDED_MODE, BoundedMode.SPECIFIC, BOUNDED_OFFSETS),
)
"""The option that each mode requires."""


def modes_have_what_they_need(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    for mode, value, needed in _ASKED_FOR:
        if declared.value(mode) is value and not reader.has(needed.key):
            yield reader.missing(needed, f"'{reader.written_key(mode.key)}' = '{value}' requires it.")


def check_unused_positions(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    for mode, value, needed in _ASKED_FOR:
        if needed in declared.connector.options and reader.has(needed.key) and declared.value(mode) is not value:
            reader.without_effect(needed.key, f"'{reader.written_key(mode.key)}' is not {value}")
    yield from ()


def offsets_are_of_one_topic(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    for mode in _MODES:
        if declared.value(mode) == StartupMode.SPECIFIC and declared.has_many_topics:
            yield reader.problem(
                Code.CONFLICTING_OPTIONS, "specific offsets can be given for a single topic only", mode.key
            )


def group_offsets_need_a_group(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    for mode in _MODES:
        if declared.value(mode) == StartupMode.GROUP and not reader.has(GROUP_ID.key):
            yield reader.problem(
                Code.MISSING_OPTION,
                f"'{reader.written_key(mode.key)}' = '{StartupMode.GROUP}' needs option "
                f"'{reader.written_key(GROUP_ID.key)}'",
                mode.key,
                hint=f"Add '{reader.written_key(GROUP_ID.key)}' = '…', the group whose committed offsets to use.",
            )


def auto_commit_needs_a_group(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    if (reader.raw(_AUTO_COMMIT) or "").strip().lower() == "true" and not reader.has(GROUP_ID.key):
        yield reader.problem(
            Code.MISSING_OPTION,
            f"option '{reader.written_key(_AUTO_COMMIT)}' needs option '{reader.written_key(GROUP_ID.key)}'",
            _AUTO_COMMIT,
            hint=f"Add '{reader.written_key(GROUP_ID.key)}' = '…', the group for which offsets are committed.",
        )


def offset_reset_is_a_position(declared: DeclaredTable) -> Iterator[Diagnostic]:
    """Only group offsets fall back on it; any other startup mode determines the position itself."""
    reader = declared.reader
    value = reader.raw(_RESET)
    if value is None:
        return
    if STARTUP_MODE not in declared.connector.options:
        reader.without_effect(_RESET, f"connector '{declared.connector.identifier}' starts at the earliest offset")
    elif declared.value(STARTUP_MODE) not in (None, StartupMode.GROUP):
        reader.without_effect(_RESET, f"'{reader.written_key(STARTUP_MODE.key)}' says where the job starts")
    elif value.strip().lower() not in _RESETS:
        yield Diagnostic(
            Code.INVALID_OPTION_VALUE,
            f"option '{reader.written_key(_RESET)}' has an invalid value",
            reader.value_place(_RESET),
            detail=f'"{value}" is not one of {", ".join(_RESETS)}.',
            hint="It says where to start in a partition for which the group has committed nothing.",
        )


def dead_letters_leave_the_table(declared: DeclaredTable) -> Iterator[Diagnostic]:
    """A dead letter in a topic that the table reads would become a dead letter again, without end."""
    letters, pattern = declared.value(DEAD_LETTER_TOPIC), declared.topic_pattern
    if letters is None:
        return
    if pattern is not None and is_java_only(pattern):
        yield declared.reader.problem(
            Code.CONFLICTING_OPTIONS,
            f"whether '{TOPIC_PATTERN.key}' reads the dead letters cannot be told",
            DEAD_LETTER_TOPIC.key,
            detail="The pattern uses syntax that only Java supports.",
            hint="Write the pattern without it.",
        )
    elif letters in declared.topics or (pattern is not None and python_regex(pattern).fullmatch(letters)):
        yield declared.reader.problem(
            Code.CONFLICTING_OPTIONS,
            f'dead letters cannot go to topic "{letters}", which the table reads',
            DEAD_LETTER_TOPIC.key,
            detail="The job would find them there, and write them again.",
            hint=f"Name another topic in '{DEAD_LETTER_TOPIC.key}'.",
        )


def check_dead_letters(declared: DeclaredTable) -> Iterator[Diagnostic]:
    """A format that skips messages leaves none to set aside."""
    reader = declared.reader
    if declared.value(DEAD_LETTER_TOPIC) is None:
        return
    formats = (("key.", declared.key_format), ("value.", declared.value_format), ("", declared.value_format))
    for key in (f"{prefix}{found.name}.ignore-parse-errors" for prefix, found in formats if found is not None):
        if (reader.raw(key) or "").strip().lower() == "true":
            yield reader.problem(
                Code.CONFLICTING_OPTIONS,
                f"options '{DEAD_LETTER_TOPIC.key}' and '{reader.written_key(key)}' cannot both be given",
                key,
                detail="A message that cannot be read is either set aside or skipped.",
                hint="Remove one of them.",
            )


def metadata_is_readable(declared: DeclaredTable) -> Iterator[Diagnostic]:
    yield from unreadable(declared.table, declared.parts)


def check_topic_pattern(declared: DeclaredTable) -> Iterator[Diagnostic]:
    if declared.topic_pattern is not None and is_java_only(declared.topic_pattern):
        written = declared.reader.written_key(TOPIC_PATTERN.key)
        declared.reader.tell(
            f"option '{written}' uses syntax that only Java supports: it is checked when the job starts",
            TOPIC_PATTERN.key,
        )
    yield from ()


SOURCE_RULES: Final = (
    modes_have_what_they_need,
    check_unused_positions,
    offsets_are_of_one_topic,
    group_offsets_need_a_group,
    auto_commit_needs_a_group,
    offset_reset_is_a_position,
    check_topic_pattern,
    dead_letters_leave_the_table,
    check_dead_letters,
    metadata_is_readable,
)
