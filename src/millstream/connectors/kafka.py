"""`connector` = `kafka`: a topic as a stream of inserts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.changelog import INSERT_ONLY
from millstream.connectors.kafka_options import (
    BOOTSTRAP_SERVERS,
    DELIVERY_GUARANTEE,
    FORMAT,
    KAFKA_RECOGNISED,
    PROPERTIES,
    STARTUP_MODE,
    STARTUP_OFFSETS,
    STARTUP_TIMESTAMP,
    TOPIC,
    VALUE_FORMAT,
    DeliveryGuarantee,
    StartupMode,
)
from millstream.connectors.kafka_tables import KafkaSink, KafkaSource, StartPosition
from millstream.errors import Code, ScriptError
from millstream.formats.declarations import Format, read_format

if TYPE_CHECKING:
    from millstream.catalog.option_reader import OptionReader

IDENTIFIER: Final = "kafka"


def resolve_source(reader: OptionReader) -> KafkaSource:
    topics, properties, value_format = _shared(reader)
    start = _start_position(reader, topics, properties)
    reader.get(DELIVERY_GUARANTEE)
    _finish(reader)
    assert value_format is not None
    return KafkaSource(reader.table, topics, properties, value_format, start)


def resolve_sink(reader: OptionReader) -> KafkaSink:
    topics, properties, value_format = _shared(reader)
    reader.get(STARTUP_MODE)
    reader.get(STARTUP_TIMESTAMP)
    reader.get(STARTUP_OFFSETS)
    single_topic(reader, topics)
    supported_guarantee(reader)
    _finish(reader)
    assert value_format is not None
    return KafkaSink(
        table=reader.table,
        topic=topics[0],
        properties=properties,
        value_format=value_format,
        key_format=None,
        key_columns=(),
        value_columns=reader.table.physical_columns,
        accepts=INSERT_ONLY,
        connector=IDENTIFIER,
    )


def topics_and_properties(reader: OptionReader) -> tuple[tuple[str, ...], dict[str, str]]:
    topics = reader.require(TOPIC) or ()
    reader.require(BOOTSTRAP_SERVERS)
    properties = reader.prefixed(PROPERTIES)
    if properties.get("security.protocol", "PLAINTEXT").upper() != "PLAINTEXT":
        reader.report(
            Code.INVALID_OPTION_VALUE,
            "encrypted and authenticated connections are not supported yet",
            f"{PROPERTIES}security.protocol",
        )
    return topics, properties


def single_topic(reader: OptionReader, topics: tuple[str, ...]) -> None:
    if len(topics) > 1:
        reader.report(
            Code.INVALID_OPTION_VALUE,
            f'table "{reader.table.name}" is written to, so it needs exactly one topic',
            TOPIC.key,
        )


def supported_guarantee(reader: OptionReader) -> None:
    if reader.get(DELIVERY_GUARANTEE) is DeliveryGuarantee.EXACTLY_ONCE:
        reader.report(
            Code.INVALID_OPTION_VALUE,
            "delivery guarantee exactly-once is not supported yet",
            DELIVERY_GUARANTEE.key,
            hint="Use at-least-once: readers of an upsert topic converge, because the last message of a key wins.",
        )


def _shared(reader: OptionReader) -> tuple[tuple[str, ...], dict[str, str], Format | None]:
    topics, properties = topics_and_properties(reader)
    if reader.table.primary_key:
        reader.report(
            Code.CONFLICTING_OPTIONS,
            f"connector 'kafka' cannot keep a primary key, and table \"{reader.table.name}\" declares one",
            "connector",
            hint="Use 'connector' = 'upsert-kafka', or remove the PRIMARY KEY.",
        )
    option, prefix = (FORMAT, "") if reader.has(FORMAT.key) else (VALUE_FORMAT, "value.")
    if not reader.has(option.key):
        reader.require(FORMAT)
    value_format = read_format(reader, option, prefix, reader.table.physical_columns)
    if option is FORMAT:
        read_format(reader, VALUE_FORMAT, "value.", ())
    return topics, properties, value_format


def _start_position(reader: OptionReader, topics: tuple[str, ...], properties: dict[str, str]) -> StartPosition:
    mode = reader.get(STARTUP_MODE)
    timestamp = reader.get(STARTUP_TIMESTAMP)
    offsets = reader.get(STARTUP_OFFSETS)
    chosen = mode is not None
    if mode is StartupMode.TIMESTAMP and timestamp is None:
        reader.require(STARTUP_TIMESTAMP)
    if mode is StartupMode.SPECIFIC:
        if offsets is None:
            reader.require(STARTUP_OFFSETS)
        if len(topics) > 1:
            reader.report(
                Code.CONFLICTING_OPTIONS,
                "specific offsets can be given for a single topic only",
                STARTUP_MODE.key,
            )
    if mode is StartupMode.GROUP and "group.id" not in properties:
        reader.report(
            Code.MISSING_OPTION,
            "startup mode group-offsets needs option 'properties.group.id'",
            STARTUP_MODE.key,
            hint="Add 'properties.group.id' = '…', whose committed offsets are where the job starts.",
        )
    if mode is None:
        mode = StartupMode.GROUP if "group.id" in properties else StartupMode.EARLIEST
    return StartPosition(mode, timestamp, offsets or (), chosen)


def _finish(reader: OptionReader) -> None:
    reader.refuse_leftovers(IDENTIFIER, KAFKA_RECOGNISED)
    if reader.problems:
        raise ScriptError(reader.problems)
