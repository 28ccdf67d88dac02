"""Creates the source or sink of a table whose options are valid."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from millstream.connectors.kafka.dead_letters import DeadLetterTopic
from millstream.connectors.kafka.option_values import (
    DEFAULT_PARTITIONER,
    BoundedMode,
    DeliveryGuarantee,
    NamingStrategy,
)
from millstream.connectors.kafka.scan_options import (
    BOUNDED_MODE,
    BOUNDED_OFFSETS,
    BOUNDED_TIMESTAMP,
    DEAD_LETTER_TOPIC,
    DISCOVERY_INTERVAL,
    FAIL_ON_DATA_LOSS,
    MAX_BATCH_RECORDS,
    SCAN_PARALLELISM,
    WATERMARK_DRIFT,
    WATERMARK_EMIT,
    WATERMARK_GAP,
    WATERMARK_GROUP,
    WATERMARK_IDLE,
    WATERMARK_UPDATE,
)
from millstream.connectors.kafka.sink_options import (
    DELIVERY_GUARANTEE,
    FLUSH_INTERVAL,
    FLUSH_ROWS,
    IGNORE_RETRACTION,
    NAMING_STRATEGY,
    PARTITIONER,
    SEMANTIC,
    SINK_PARALLELISM,
    TRANSACTIONAL_ID_PREFIX,
    UPDATE_MODE,
)
from millstream.connectors.kafka.sink_rules import default_prefix
from millstream.connectors.kafka.tables import BufferFlush, Delivery, EndPosition, KafkaSink, KafkaSource
from millstream.connectors.metadata import read_metadata, written_metadata

if TYPE_CHECKING:
    from millstream.catalog.option_reader import Notice
    from millstream.changelog import ChangelogMode
    from millstream.connectors.kafka.declared_table import DeclaredTable
    from millstream.connectors.kafka.tables import StartPosition

_NO_ALIGNMENT: Final = "all sources of a job read the same batch, so none runs ahead"
_ONE_WATERMARK: Final = "the watermark moves on once per batch, after its last row"
_ONE_PARALLELISM: Final = "the number of tasks is 'parallelism.default', or that of the partitions to read"
WITHOUT_EFFECT: Final = (
    (DISCOVERY_INTERVAL.key, "new partitions are looked for with every batch"),
    (SCAN_PARALLELISM.key, _ONE_PARALLELISM),
    (WATERMARK_EMIT.key, _ONE_WATERMARK),
    (WATERMARK_GAP.key, _ONE_WATERMARK),
    (WATERMARK_GROUP.key, _NO_ALIGNMENT),
    (WATERMARK_DRIFT.key, _NO_ALIGNMENT),
    (WATERMARK_UPDATE.key, _NO_ALIGNMENT),
)


def source_of(
    table: DeclaredTable, start: StartPosition, changelog: ChangelogMode, notices: tuple[Notice, ...]
) -> KafkaSource:
    assert table.value_format is not None
    end = _end(table)
    return KafkaSource(
        table=table.table,
        topics=table.topics,
        properties=table.properties,
        value_format=table.value_format,
        start=start,
        changelog=changelog,
        connector=table.connector.identifier,
        topic_pattern=table.topic_pattern,
        key_format=table.key_format,
        key=table.key,
        value_columns=table.value_columns,
        metadata=read_metadata(table.table, table.parts),
        end=end,
        discovery=timedelta(0) if end else table.value(DISCOVERY_INTERVAL) or timedelta(0),
        parallelism=table.value(SCAN_PARALLELISM),
        idle_timeout=table.value(WATERMARK_IDLE),
        max_batch_records=table.value(MAX_BATCH_RECORDS),
        fails_on_data_loss=table.value(FAIL_ON_DATA_LOSS) is not False,
        dead_letters=_dead_letters(table),
        notices=notices,
        places=table.reader.places,
    )


def sink_of(table: DeclaredTable, accepts: ChangelogMode, notices: tuple[Notice, ...]) -> KafkaSink:
    assert table.value_format is not None
    rows, interval = table.value(FLUSH_ROWS), table.value(FLUSH_INTERVAL)
    return KafkaSink(
        table=table.table,
        topics=table.topics,
        properties=table.properties,
        value_format=table.value_format,
        key_format=table.key_format,
        key=table.key,
        value_columns=table.value_columns,
        accepts=accepts,
        connector=table.connector.identifier,
        topic_pattern=table.topic_pattern,
        metadata=written_metadata(table.table, table.parts),
        partitioner=table.value(PARTITIONER) or DEFAULT_PARTITIONER,
        delivery=_delivery(table),
        parallelism=table.value(SINK_PARALLELISM),
        buffer_flush=BufferFlush(rows, interval) if rows and interval else None,
        ignore_retraction=table.value(IGNORE_RETRACTION) is True,
        update_mode=table.value(UPDATE_MODE),
        notices=notices,
        places=table.reader.places,
    )


def _end(table: DeclaredTable) -> EndPosition | None:
    mode = table.value(BOUNDED_MODE)
    if mode is None or mode is BoundedMode.UNBOUNDED:
        return None
    return EndPosition(mode, table.value(BOUNDED_TIMESTAMP), table.value(BOUNDED_OFFSETS) or ())


def _dead_letters(table: DeclaredTable) -> DeadLetterTopic | None:
    topic = table.value(DEAD_LETTER_TOPIC)
    return DeadLetterTopic(topic, table.table.name, table.properties) if topic else None


def _delivery(table: DeclaredTable) -> Delivery:
    guarantee = table.value(SEMANTIC) or table.value(DELIVERY_GUARANTEE) or DeliveryGuarantee.AT_LEAST_ONCE
    prefix = table.value(TRANSACTIONAL_ID_PREFIX)
    if prefix is None and guarantee is DeliveryGuarantee.EXACTLY_ONCE:
        prefix = default_prefix(table)
    return Delivery(guarantee, prefix, table.value(NAMING_STRATEGY) or NamingStrategy.INCREMENTING)
