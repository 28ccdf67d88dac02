"""The options of Kafka sinks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from millstream.catalog.durations import duration
from millstream.catalog.options import ConfigOption, OptionType, Role, at_least, boolean, one_of
from millstream.connectors.kafka.option_values import (
    DeliveryGuarantee,
    NamingStrategy,
    UpdateMode,
    delivery_guarantee,
    partitioner,
    transactional_id_prefix,
)

PARTITIONER: Final = ConfigOption(
    "sink.partitioner",
    partitioner,
    "How rows are spread over partitions: default (by the key; without one, as Kafka's producer does), fixed (a task "
    "writes to one), round-robin (one row to each in turn; not with a key), or a class as 'module:Class'.",
    role=Role.SINK,
    example="fixed",
    legacy=("connector.sink-partitioner",),
)
_GUARANTEE_DOCS: Final = {
    DeliveryGuarantee.NONE: "rows may be lost or written twice",
    DeliveryGuarantee.AT_LEAST_ONCE: "no row is lost; rows may be written twice",
    DeliveryGuarantee.EXACTLY_ONCE: "each row is written once, in transactions",
}
_GUARANTEE: Final = OptionType(
    "ENUM", delivery_guarantee, tuple((member.value, doc) for member, doc in _GUARANTEE_DOCS.items())
)
DELIVERY_GUARANTEE: Final = ConfigOption(
    "sink.delivery-guarantee",
    _GUARANTEE,
    "How often a row may reach the topic when the job restarts: none, at-least-once or exactly-once.",
    DeliveryGuarantee.AT_LEAST_ONCE,
    Role.SINK,
)
SEMANTIC: Final = ConfigOption(
    "sink.semantic",
    _GUARANTEE,
    "The older name of 'sink.delivery-guarantee'; where both are given, this one counts.",
    role=Role.SINK,
    example="at-least-once",
)
TRANSACTIONAL_ID_PREFIX: Final = ConfigOption(
    "sink.transactional-id-prefix",
    transactional_id_prefix,
    "What the ids of the job's transactions begin with; no two jobs may share it.",
    role=Role.SINK,
    needed="with guarantee exactly-once",
    example="orders-by-region",
)
NAMING_STRATEGY: Final = ConfigOption(
    "sink.transaction-naming-strategy",
    one_of(
        NamingStrategy,
        {
            NamingStrategy.INCREMENTING: "a new id for each transaction",
            NamingStrategy.POOLING: "ids are used again",
        },
    ),
    "How the ids of transactions are chosen: INCREMENTING or POOLING.",
    NamingStrategy.INCREMENTING,
    Role.SINK,
)
SINK_PARALLELISM: Final = ConfigOption(
    "sink.parallelism",
    at_least(1),
    "Tasks that write the table, the rows of a key in one of them; as many as compute the rows if left out.",
    role=Role.SINK,
    example="4",
)
FLUSH_ROWS: Final = ConfigOption(
    "sink.buffer-flush.max-rows",
    at_least(0),
    "Keys to gather before the last change of each is written; 0 is off.",
    0,
    Role.SINK,
)
FLUSH_INTERVAL: Final = ConfigOption(
    "sink.buffer-flush.interval",
    duration,
    "How long to buffer rows, at most until the batch ends; 0 disables buffering.",
    timedelta(0),
    Role.SINK,
)

IGNORE_RETRACTION: Final = ConfigOption(
    "connector.sink.ignore-retraction",
    boolean,
    "Whether a retraction is dropped; otherwise it is written as a message without value.",
    False,
    Role.SINK,
    legacy=("connector.sink.ignore-retraction",),
)
UPDATE_MODE: Final = ConfigOption(
    "update-mode",
    one_of(
        UpdateMode,
        {
            UpdateMode.APPEND: "inserts only",
            UpdateMode.RETRACT: "what is retracted is written as a retraction",
            UpdateMode.UPSERT: "the last row of a key counts; needs a primary key",
        },
    ),
    "What the table takes: append, retract or upsert.",
    role=Role.SINK,
    legacy=("update-mode",),
)
LEGACY_ONLY: Final[tuple[ConfigOption[Any], ...]] = (IGNORE_RETRACTION, UPDATE_MODE)
"""They have no key in the `connector` dialect, where the connector and its format imply them."""
