"""`connector` = `upsert-kafka`: a topic as a table, the last message of a key being its row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.changelog import UPSERTS
from millstream.connectors.kafka import single_topic, supported_guarantee, topics_and_properties
from millstream.connectors.kafka_options import (
    FIELDS_INCLUDE,
    KEY_FORMAT,
    UPSERT_RECOGNISED,
    VALUE_FORMAT,
    FieldsInclude,
)
from millstream.connectors.kafka_tables import KafkaSink
from millstream.errors import Code, Diagnostic, ScriptError
from millstream.formats.declarations import read_format

if TYPE_CHECKING:
    from millstream.catalog.option_reader import OptionReader
    from millstream.connectors.kafka_tables import KafkaSource

IDENTIFIER: Final = "upsert-kafka"


def resolve_source(reader: OptionReader) -> KafkaSource:
    raise ScriptError(
        Diagnostic(
            Code.NOT_A_SOURCE,
            f"table \"{reader.table.name}\" cannot be read: connector 'upsert-kafka' is a sink only, so far",
            reader.place("connector"),
            hint="Read the topic with 'connector' = 'kafka' to see its messages as inserts.",
        )
    )


def resolve_sink(reader: OptionReader) -> KafkaSink:
    table = reader.table
    if not table.primary_key:
        reader.problems.append(
            Diagnostic(
                Code.MISSING_PRIMARY_KEY,
                f"table \"{table.name}\" needs a primary key, because its connector is 'upsert-kafka'",
                table.span,
                hint="Add PRIMARY KEY (…) NOT ENFORCED; its columns become the message key.",
            )
        )
    topics, properties = topics_and_properties(reader)
    single_topic(reader, topics)
    supported_guarantee(reader)
    for option in (KEY_FORMAT, VALUE_FORMAT):
        reader.require(option)
    physical = {column.name: column for column in table.physical_columns}
    key_columns = tuple(physical[name] for name in table.primary_key if name in physical)
    include = reader.get(FIELDS_INCLUDE)
    value_columns = tuple(
        column for column in table.physical_columns if include is FieldsInclude.ALL or column not in key_columns
    )
    key_format = read_format(reader, KEY_FORMAT, "key.", key_columns)
    value_format = read_format(reader, VALUE_FORMAT, "value.", value_columns)
    reader.refuse_leftovers(IDENTIFIER, UPSERT_RECOGNISED)
    if reader.problems:
        raise ScriptError(reader.problems)
    assert value_format is not None
    return KafkaSink(
        table=table,
        topic=topics[0],
        properties=properties,
        value_format=value_format,
        key_format=key_format,
        key_columns=key_columns,
        value_columns=value_columns,
        accepts=UPSERTS,
        connector=IDENTIFIER,
    )
