"""Rules and notices for the properties that a table passes to Kafka's clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.catalog.kafka_properties import OVERRIDDEN, nearest_property, wrong_value
from millstream.connectors.kafka.client import with_kafkas_names
from millstream.connectors.kafka.names import is_placeholder
from millstream.connectors.kafka.options import BOOTSTRAP_SERVERS, PROPERTIES, TOPIC
from millstream.errors import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.connectors.kafka.declared_table import DeclaredTable


def properties_have_values_kafka_takes(declared: DeclaredTable) -> Iterator[Diagnostic]:
    reader = declared.reader
    for key, value in declared.properties.items():
        if why := wrong_value(key, value):
            yield Diagnostic(
                Code.INVALID_OPTION_VALUE,
                f"option '{reader.written_key(PROPERTIES + key)}' has an invalid value",
                reader.value_place(PROPERTIES + key),
                detail=f"{why}.",
                hint="It is a property of Kafka's clients, and is passed to them unchanged.",
            )


def properties_have_names(declared: DeclaredTable) -> Iterator[Diagnostic]:
    """Plugins of Kafka's clients may read any name, so a probable typo causes a notice rather than an error."""
    reader = declared.reader
    for key in declared.properties:
        written = reader.written_key(PROPERTIES + key)
        if not key.strip():
            yield reader.problem(
                Code.UNDEFINED_OPTION,
                f"option '{written}' does not say which property it sets",
                PROPERTIES + key,
                hint=f"Add the name of the property, e.g. '{written.strip()}acks'.",
            )
        elif key in OVERRIDDEN:
            reader.tell(
                f"option '{written}' is overridden: the table's formats determine what messages contain",
                PROPERTIES + key,
            )
        elif near := nearest_property(key):
            reader.tell(
                f"option '{written}' is passed on unchanged, but Kafka has no property \"{key}\": "
                f"did you mean '{written.removesuffix(key)}{near}'?",
                PROPERTIES + key,
            )


def check_shaded_names(declared: DeclaredTable) -> Iterator[Diagnostic]:
    """Scripts that ran elsewhere may use the class names of a bundled connector."""
    reader = declared.reader
    for key, value in declared.properties.items():
        if with_kafkas_names(value) != value:
            reader.tell(
                f"option '{reader.written_key(PROPERTIES + key)}' names a class of a bundled Kafka client: "
                "Kafka's own class of that name is used",
                PROPERTIES + key,
            )
    yield from ()


def check_placeholders(declared: DeclaredTable) -> Iterator[Diagnostic]:
    """Examples can be checked as they are published; they run once their placeholders are replaced."""
    reader = declared.reader
    for option in (TOPIC, BOOTSTRAP_SERVERS):
        value = reader.raw(option.key)
        if value is not None and is_placeholder(value):
            reader.tell(
                f"option '{reader.written_key(option.key)}' of table \"{declared.table.name}\" looks like a "
                f"placeholder: '{value}'",
                option.key,
            )
    yield from ()


PROPERTY_RULES: Final = (
    properties_have_values_kafka_takes,
    properties_have_names,
    check_shaded_names,
    check_placeholders,
)
