"""How large a producer's request may be: the broker compares all messages in it with the topic's limit for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.runtime.kafka.tables import kafka_sinks

if TYPE_CHECKING:
    from millstream.plan.program import JobPlan
    from millstream.runtime.kafka.clients import KafkaClients

_OF_A_TOPIC: Final = "max.message.bytes"
_BATCH_SIZE: Final = "batch.size"
_DEFAULT_BYTES: Final = 1_048_588
_HEADROOM: Final = 0.9
"""For what the client adds to messages."""


def find_request_limits(job: JobPlan, clients: KafkaClients) -> dict[str, int]:
    """The size in bytes for each table of which a topic accepts less than Kafka does by default.

    Java's producers split a request that is too large; Kafka's C client fails all messages in it.
    """
    limits = {}
    for sink in kafka_sinks(job):
        if _BATCH_SIZE in sink.properties:
            continue
        admin = KafkaAdmin(sink.properties, clients=clients)
        found = (admin.topic_setting(topic, _OF_A_TOPIC) for topic in sink.topics)
        least = min((limit for limit in found if limit is not None), default=_DEFAULT_BYTES)
        if least < _DEFAULT_BYTES:
            limits[sink.table.name] = max(1, int(least * _HEADROOM))
    return limits
