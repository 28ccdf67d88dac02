"""Which jobs write by producers of ours: Spark's Kafka sink knows no transactions, and no time of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.connectors.kafka.metadata import TIMESTAMP
from millstream.connectors.kafka.option_values import DeliveryGuarantee
from millstream.connectors.kafka.tables import KafkaSink
from millstream.plan.nodes import Write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from millstream.plan.nodes import Root


def has_own_producers(roots: Iterable[Root]) -> bool:
    """Of a set, all INSERTs write the same way."""
    sinks = (root.sink for root in roots if isinstance(root, Write) and isinstance(root.sink, KafkaSink))
    return any(map(_needs_own_producer, sinks))


def _needs_own_producer(sink: KafkaSink) -> bool:
    writes_time = any(use.key == TIMESTAMP.key for use in sink.metadata)
    return writes_time or sink.delivery.guarantee is DeliveryGuarantee.EXACTLY_ONCE
