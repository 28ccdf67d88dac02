"""The Kafka tables of a job. The rest of the runtime does not distinguish them from others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.connectors.kafka.tables import KafkaSink, KafkaSource
from millstream.plan.operators.roots import Write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.plan.operators.scan import Scan
    from millstream.plan.program import JobPlan


def kafka_scans(job: JobPlan) -> Iterator[tuple[Scan, KafkaSource]]:
    """Each scan of topics, in the order of the plan."""
    return ((scan, scan.source) for scan in job.scans if isinstance(scan.source, KafkaSource))


def kafka_sources(job: JobPlan) -> list[KafkaSource]:
    return [source for _, source in kafka_scans(job)]


def kafka_lookups(job: JobPlan) -> list[KafkaSource]:
    """The topics that rows are looked up in."""
    return [scan.source for scan in job.lookups if isinstance(scan.source, KafkaSource)]


def kafka_sinks(job: JobPlan) -> list[KafkaSink]:
    """One for each INSERT."""
    sinks = (root.sink for root in job.roots if isinstance(root, Write))
    return [sink for sink in sinks if isinstance(sink, KafkaSink)]


def exactly_once_sinks(job: JobPlan) -> list[KafkaSink]:
    """Each table once, however many INSERTs write to it."""
    return list({sink.table.name: sink for sink in kafka_sinks(job) if sink.is_exactly_once}.values())
