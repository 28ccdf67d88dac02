"""Checks whether the Kafka clusters of a job respond: Spark's clients wait for a lost broker without reporting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.runtime.kafka.tables import kafka_sinks, kafka_sources

if TYPE_CHECKING:
    from millstream.errors import MillstreamError
    from millstream.plan.program import JobPlan
    from millstream.runtime.kafka.clients import KafkaClients

_ANSWER_SECONDS: Final = 2.0


class KafkaWatch:
    def __init__(self, plan: JobPlan, clients: KafkaClients) -> None:
        self._clients = clients
        kafka = [source.properties for source in kafka_sources(plan)] + [sink.properties for sink in kafka_sinks(plan)]
        self._clusters = list({properties["bootstrap.servers"]: properties for properties in kafka}.values())
        self._admins: list[KafkaAdmin] | None = None

    def ask(self) -> MillstreamError | None:
        """The error of the first cluster that does not respond; None if all do."""
        if self._admins is None:
            self._admins = [KafkaAdmin(properties, clients=self._clients) for properties in self._clusters]
        return next((away for admin in self._admins if (away := admin.ping(_ANSWER_SECONDS))), None)
