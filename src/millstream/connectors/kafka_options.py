"""The options of the Kafka connectors, each declared once."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from millstream.catalog.options import ConfigOption, Role, integer, one_of, text, text_list


class StartupMode(StrEnum):
    EARLIEST = "earliest-offset"
    LATEST = "latest-offset"
    GROUP = "group-offsets"
    TIMESTAMP = "timestamp"
    SPECIFIC = "specific-offsets"


class FieldsInclude(StrEnum):
    ALL = "ALL"
    EXCEPT_KEY = "EXCEPT_KEY"


class DeliveryGuarantee(StrEnum):
    NONE = "none"
    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"


def specific_offsets(value: str) -> tuple[tuple[int, int], ...]:
    """`partition:0,offset:42;partition:1,offset:300`."""
    pairs = []
    for part in value.split(";"):
        match [item.strip().split(":", 1) for item in part.split(",")]:
            case [["partition", partition], ["offset", offset]] if partition.isdigit() and offset.isdigit():
                pairs.append((int(partition), int(offset)))
            case _:
                raise ValueError(f'"{value}" does not follow the form partition:0,offset:42;partition:1,offset:300')
    return tuple(pairs)


TOPIC: Final = ConfigOption("topic", text_list, "The topic; several, separated by ';', for a source.")
BOOTSTRAP_SERVERS: Final = ConfigOption(
    "properties.bootstrap.servers", text, "Addresses of the brokers, e.g. 'localhost:9092'."
)
FORMAT: Final = ConfigOption("format", str, "The format of the messages, e.g. 'json'.")
KEY_FORMAT: Final = ConfigOption("key.format", str, "The format of the message key, e.g. 'json' or 'avro'.")
VALUE_FORMAT: Final = ConfigOption("value.format", str, "The format of the message value, e.g. 'json' or 'avro'.")
STARTUP_MODE: Final = ConfigOption(
    "scan.startup.mode",
    one_of(StartupMode),
    "Where a new job starts reading: earliest-offset, latest-offset, group-offsets, timestamp or specific-offsets.",
    role=Role.SOURCE,
)
STARTUP_TIMESTAMP: Final = ConfigOption(
    "scan.startup.timestamp-millis", integer, "Epoch milliseconds to start at.", role=Role.SOURCE
)
STARTUP_OFFSETS: Final = ConfigOption(
    "scan.startup.specific-offsets",
    specific_offsets,
    "Where to start per partition, e.g. 'partition:0,offset:42;partition:1,offset:300'.",
    role=Role.SOURCE,
)
FIELDS_INCLUDE: Final = ConfigOption(
    "value.fields-include",
    one_of(FieldsInclude),
    "ALL: the value has every column. EXCEPT_KEY: every column but the key's.",
    FieldsInclude.ALL,
)
DELIVERY_GUARANTEE: Final = ConfigOption(
    "sink.delivery-guarantee",
    one_of(DeliveryGuarantee),
    "How often a row may reach the topic when the job restarts: none, at-least-once or exactly-once.",
    DeliveryGuarantee.AT_LEAST_ONCE,
    Role.SINK,
)

PROPERTIES: Final = "properties."

KAFKA_RECOGNISED: Final = (
    "topic-pattern", "key.format", "key.fields", "key.fields-prefix", "value.fields-include",
    "scan.bounded.mode", "scan.bounded.specific-offsets", "scan.bounded.timestamp-millis",
    "scan.topic-partition-discovery.interval", "scan.parallelism", "sink.partitioner", "sink.semantic",
    "sink.transactional-id-prefix", "sink.transaction-naming-strategy", "sink.parallelism",
    "scan.watermark.emit.strategy", "scan.watermark.emit.on-event.gap", "scan.watermark.idle-timeout",
    "scan.watermark.alignment.group", "scan.watermark.alignment.max-drift", "scan.watermark.alignment.update-interval",
)  # fmt: skip

UPSERT_RECOGNISED: Final = (
    "topic-pattern", "key.fields-prefix", "scan.bounded.mode", "scan.bounded.specific-offsets",
    "scan.bounded.timestamp-millis", "scan.topic-partition-discovery.interval", "scan.parallelism",
    "sink.parallelism", "sink.buffer-flush.max-rows", "sink.buffer-flush.interval",
    "sink.transactional-id-prefix", "sink.transaction-naming-strategy",
)  # fmt: skip
