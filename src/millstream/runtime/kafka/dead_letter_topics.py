"""Checks before a job starts that its dead-letter topics exist and accept messages as large as those that are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.connectors.kafka.dead_letters import HEADROOM_BYTES
from millstream.connectors.kafka.scan_options import DEAD_LETTER_TOPIC
from millstream.runtime.kafka.admin import KafkaAdmin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from millstream.connectors.kafka.tables import KafkaSource
    from millstream.runtime.kafka.clients import KafkaClients

_OF_A_TOPIC: Final = "max.message.bytes"
_OF_THE_BROKERS: Final = "message.max.bytes"
_LARGEST: Final = 2**31 - 1


def check_dead_letters(
    source: KafkaSource, read: Iterable[str], clients: KafkaClients, notice: Callable[[str], None]
) -> None:
    """`read` are the known topics of the table."""
    assert source.dead_letters is not None
    topic, table = source.dead_letters.topic, source.table.name
    admin = KafkaAdmin(source.properties, source.places.value, DEAD_LETTER_TOPIC.key, clients=clients)
    needed = _needed_size(admin, read)
    if admin.ensure_topic(topic, table, {} if needed is None else {_OF_A_TOPIC: str(needed)}):
        notice(f'topic "{topic}" for dead letters of table "{table}" did not exist and was created')
    taken = admin.topic_setting(topic, _OF_A_TOPIC)
    if needed is not None and taken is not None and taken < needed:
        notice(
            f'topic "{topic}" for dead letters of table "{table}" takes messages of up to {taken} bytes, and with its '
            f"headers a dead letter may have {needed}: set its {_OF_A_TOPIC} to that, else a large one fails the job"
        )


def _needed_size(admin: KafkaAdmin, read: Iterable[str]) -> int | None:
    """None if the user may not see the sizes. A topic that does not exist yet gets the brokers' default."""
    sizes = [admin.topic_setting(topic, _OF_A_TOPIC) for topic in read]
    if None in sizes or not sizes:
        sizes.append(admin.broker_setting(_OF_THE_BROKERS))
    largest = max((size for size in sizes if size is not None), default=None)
    return None if largest is None else min(largest + HEADROOM_BYTES, _LARGEST)
