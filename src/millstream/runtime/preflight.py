"""What a job asks Kafka before Spark starts: are the topics there, and where does reading begin."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from confluent_kafka import TopicPartition

from millstream.connectors import upsert_kafka
from millstream.connectors.kafka_tables import KafkaSink, KafkaSource
from millstream.connectors.kafka_values import StartupMode
from millstream.connectors.legacy import open_reader
from millstream.errors import BrokerError, Code, Diagnostic
from millstream.plan.nodes import Write
from millstream.runtime.kafka_admin import KafkaAdmin

if TYPE_CHECKING:
    from collections.abc import Callable

    from millstream.catalog.table import CatalogTable
    from millstream.plan.program import JobPlan
    from millstream.source import Span


_EARLIEST: Final = -2
"""Spark's word for it, settled when the job reads: what is the earliest now may be gone by then."""


@dataclass(frozen=True, slots=True)
class Preflight:
    start_offsets: dict[Span, str]
    """Per place where a topic is read, Spark's JSON of offsets to start at."""


def check_kafka(job: JobPlan, notice: Callable[[str], None], *, resumes: bool) -> Preflight:
    """Raises what would stop the job; tells `notice` what was decided on the user's behalf.

    A job that resumes has its positions in the checkpoint, and a source topic that is gone has taken rows with it.
    """
    start_offsets = {}
    for scan in job.scans:
        source = scan.source
        if isinstance(source, KafkaSource):
            start_offsets[scan.span] = _check_source(source, notice, resumes=resumes)
    for root in job.roots:
        if isinstance(root, Write) and isinstance(root.sink, KafkaSink):
            _check_sink(root.sink, notice)
    return Preflight(start_offsets)


def _check_sink(sink: KafkaSink, notice: Callable[[str], None]) -> None:
    for topic in sink.topics:
        if _admin(sink.properties, sink.table).ensure_topic(topic, sink.table.name):
            compaction = "; set its cleanup.policy to compact" if sink.connector == upsert_kafka.IDENTIFIER else ""
            notice(f'topic "{topic}" of table "{sink.table.name}" did not exist and was created{compaction}')


def _check_source(source: KafkaSource, notice: Callable[[str], None], *, resumes: bool) -> str:
    admin = _admin(source.properties, source.table)
    for topic in source.topics:
        if resumes:
            admin.require_topic(topic, source.table.name)
        elif admin.ensure_topic(topic, source.table.name):
            notice(f'topic "{topic}" of table "{source.table.name}" did not exist and was created; it is empty')
    return "earliest" if resumes else _as_json(_start_offsets(source, admin, notice))


def _start_offsets(source: KafkaSource, admin: KafkaAdmin, notice: Callable[[str], None]) -> dict[TopicPartition, int]:
    start, topics = source.start, source.topics
    match start.mode:
        case StartupMode.EARLIEST:
            if not start.chosen:
                notice(
                    f'table "{source.table.name}": a new job starts at the earliest offset '
                    "(scan.startup.mode is not set)"
                )
            return dict.fromkeys(admin.earliest(topics), _EARLIEST)
        case StartupMode.LATEST:
            return admin.latest(topics)
        case StartupMode.TIMESTAMP:
            assert start.timestamp is not None
            return admin.at_timestamp(topics, start.timestamp)
        case StartupMode.SPECIFIC:
            given = {TopicPartition(topics[0], partition): offset for partition, offset in start.offsets}
            committed = admin.committed(topics, source.group) if source.group else {}
            return _not_before(admin.earliest(topics), {**committed, **given})
        case StartupMode.GROUP:
            return _group_offsets(source, admin, notice)


def _group_offsets(source: KafkaSource, admin: KafkaAdmin, notice: Callable[[str], None]) -> dict[TopicPartition, int]:
    assert source.group is not None
    committed = admin.committed(source.topics, source.group)
    earliest = admin.earliest(source.topics)
    if committed.keys() >= earliest.keys():
        return _not_before(earliest, committed)
    reset = source.properties.get("auto.offset.reset")
    if not source.start.chosen or reset == "earliest":
        if not source.start.chosen:
            where = "the offsets committed by" if committed else "the earliest offset, as nothing is committed by"
            notice(f'table "{source.table.name}": a new job starts at {where} group "{source.group}"')
        return _not_before(earliest, committed)
    if reset == "latest":
        return _not_before(earliest, {**admin.latest(source.topics), **committed})
    missing = sorted(f"{p.topic}-{p.partition}" for p in earliest.keys() - committed.keys())
    raise BrokerError(
        Diagnostic(
            Code.OFFSETS_UNAVAILABLE,
            f'group "{source.group}" has committed no offsets for table "{source.table.name}"',
            _place(source.table, "properties.group.id"),
            detail=f"Partitions without: {', '.join(missing)}.",
            hint="Set 'properties.auto.offset.reset' to earliest or latest, or another 'scan.startup.mode'.",
        )
    )


def _not_before(earliest: dict[TopicPartition, int], wanted: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
    """What is wanted, but nothing that retention has taken; what is not mentioned starts at the earliest."""
    return {partition: max(first, wanted.get(partition, first)) for partition, first in earliest.items()}


def _as_json(offsets: dict[TopicPartition, int]) -> str:
    by_topic: dict[str, dict[str, int]] = {}
    for partition, offset in offsets.items():
        by_topic.setdefault(partition.topic, {})[str(partition.partition)] = offset
    return json.dumps(by_topic)


def _admin(properties: dict[str, str], table: CatalogTable) -> KafkaAdmin:
    return KafkaAdmin(properties, _place(table, "properties.bootstrap.servers"), _place(table, "topic"))


def _place(table: CatalogTable, key: str) -> Span:
    """Where the table says it, in whichever dialect, else its name."""
    return open_reader(table).value_place(key)
