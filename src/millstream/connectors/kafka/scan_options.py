"""The options of Kafka sources."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from millstream.catalog.durations import duration
from millstream.catalog.options import ConfigOption, Role, at_least, boolean, long_integer, one_of, text
from millstream.connectors.kafka.names import topic
from millstream.connectors.kafka.option_values import BoundedMode, StartupMode, WatermarkEmit, offsets

_OFFSETS_EXAMPLE: Final = "partition:0,offset:42;partition:1,offset:300"

STARTUP_MODE: Final = ConfigOption(
    "scan.startup.mode",
    one_of(
        StartupMode,
        {
            StartupMode.EARLIEST: "at the first message that is still there",
            StartupMode.LATEST: "after the latest message when the job starts",
            StartupMode.GROUP: "at what the consumer group has committed",
            StartupMode.TIMESTAMP: "at the first message as late as 'scan.startup.timestamp-millis'",
            StartupMode.SPECIFIC: "where 'scan.startup.specific-offsets' says",
        },
    ),
    "Where a new job starts reading: earliest-offset, latest-offset, group-offsets, timestamp or specific-offsets.",
    role=Role.SOURCE,
    legacy=("connector.startup-mode",),
)
STARTUP_TIMESTAMP: Final = ConfigOption(
    "scan.startup.timestamp-millis",
    long_integer,
    "Epoch milliseconds to start at.",
    role=Role.SOURCE,
    needed="with startup mode timestamp",
    example="1719792000000",
    legacy=("connector.startup-timestamp-millis",),
)
STARTUP_OFFSETS: Final = ConfigOption(
    "scan.startup.specific-offsets",
    offsets,
    f"Where to start per partition, e.g. '{_OFFSETS_EXAMPLE}'.",
    role=Role.SOURCE,
    needed="with startup mode specific-offsets",
    example=_OFFSETS_EXAMPLE,
    legacy=("connector.specific-offsets",),
)
BOUNDED_MODE: Final = ConfigOption(
    "scan.bounded.mode",
    one_of(
        BoundedMode,
        {
            BoundedMode.UNBOUNDED: "never",
            BoundedMode.LATEST: "after the latest message when the job starts",
            BoundedMode.GROUP: "at what the consumer group has committed",
            BoundedMode.TIMESTAMP: "before the first message as late as 'scan.bounded.timestamp-millis'",
            BoundedMode.SPECIFIC: "before the offsets of 'scan.bounded.specific-offsets'",
        },
    ),
    "Where reading ends: unbounded, latest-offset, group-offsets, timestamp or specific-offsets.",
    BoundedMode.UNBOUNDED,
    Role.SOURCE,
)
BOUNDED_TIMESTAMP: Final = ConfigOption(
    "scan.bounded.timestamp-millis",
    long_integer,
    "Epoch milliseconds to end before.",
    role=Role.SOURCE,
    needed="with bounded mode timestamp",
    example="1719792000000",
)
BOUNDED_OFFSETS: Final = ConfigOption(
    "scan.bounded.specific-offsets",
    offsets,
    f"Where to end per partition; the offset itself is not read, e.g. '{_OFFSETS_EXAMPLE}'.",
    role=Role.SOURCE,
    needed="with bounded mode specific-offsets",
    example=_OFFSETS_EXAMPLE,
)
DISCOVERY_INTERVAL: Final = ConfigOption(
    "scan.topic-partition-discovery.interval",
    duration,
    "How often new topics and partitions are looked for; 0 is never.",
    timedelta(minutes=5),
    Role.SOURCE,
)
SCAN_PARALLELISM: Final = ConfigOption(
    "scan.parallelism", at_least(1), "Tasks that read the table.", role=Role.SOURCE, example="4"
)
MAX_BATCH_RECORDS: Final = ConfigOption(
    "scan.max-records-per-batch",
    at_least(1, long_integer),
    "The most messages that one batch reads, over all partitions; 'millstream.batch.max-rows' unless set. Each "
    "partition with new messages gives at least one, so a limit below the number of partitions is raised to it.",
    role=Role.SOURCE,
    example="100000",
)
FAIL_ON_DATA_LOSS: Final = ConfigOption(
    "scan.fail-on-data-loss",
    boolean,
    "Whether the job fails when messages are gone that it has not read; if false, it continues after the gap.",
    True,
    Role.SOURCE,
)
DEAD_LETTER_TOPIC: Final = ConfigOption(
    "scan.dead-letter.topic",
    topic,
    "A topic of the same Kafka for messages that cannot be read, each with headers that tell its origin and the "
    "error; without it such a message fails the job.",
    role=Role.SOURCE,
    example="orders-dead",
)
WATERMARK_EMIT: Final = ConfigOption(
    "scan.watermark.emit.strategy",
    one_of(WatermarkEmit),
    "When watermarks are sent on: on-periodic or on-event.",
    WatermarkEmit.PERIODIC,
    Role.SOURCE,
)
WATERMARK_GAP: Final = ConfigOption(
    "scan.watermark.emit.on-event.gap", at_least(1), "Rows from one watermark to the next.", 1, Role.SOURCE
)
WATERMARK_IDLE: Final = ConfigOption(
    "scan.watermark.idle-timeout",
    duration,
    "After how long without rows a partition no longer holds the watermark back.",
    role=Role.SOURCE,
    example="1 min",
)
WATERMARK_GROUP: Final = ConfigOption(
    "scan.watermark.alignment.group", text, "Sources of one group wait for each other.", role=Role.SOURCE
)
WATERMARK_DRIFT: Final = ConfigOption(
    "scan.watermark.alignment.max-drift", duration, "How far a source may run ahead of its group.", role=Role.SOURCE
)
WATERMARK_UPDATE: Final = ConfigOption(
    "scan.watermark.alignment.update-interval",
    duration,
    "How often a group compares its watermarks.",
    timedelta(seconds=1),
    Role.SOURCE,
)
