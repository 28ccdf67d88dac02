"""What a job checks with Kafka before Spark starts: that the topics exist, and from where to where to read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from millstream.connectors.kafka import upsert_connector as upsert_kafka
from millstream.connectors.kafka.options import TOPIC
from millstream.connectors.kafka.read_range import ReadRange
from millstream.reading.offset_plan import nest
from millstream.runtime.batch_log import BatchLog
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.runtime.kafka.dead_letter_topics import check_dead_letters
from millstream.runtime.kafka.exactly_once import check_timeout
from millstream.runtime.kafka.lost_messages import Topics, refuse_lost
from millstream.runtime.kafka.scan_ends import read_kept_ends
from millstream.runtime.kafka.source_positions import SourcePositions, plain
from millstream.runtime.kafka.source_topics import is_found_by_java, offsets_of, topics_of
from millstream.runtime.kafka.tables import kafka_lookups, kafka_scans, kafka_sinks, kafka_sources
from millstream.runtime.kafka.topic_ids import read_kept_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from millstream.connectors.kafka.read_range import Offsets
    from millstream.connectors.kafka.tables import KafkaSink, KafkaSource
    from millstream.plan.program import JobPlan
    from millstream.runtime.kafka.clients import KafkaClients

_EARLIEST = "earliest"


def check_kafka(
    job: JobPlan, clients: KafkaClients, notice: Callable[[str], None], resumes: Path | None
) -> dict[str, ReadRange]:
    """The range to read, for each scan of topics. Raises if something would stop the job.

    A resuming job has its positions in the checkpoint folder `resumes`; if a source topic was deleted, rows are lost.
    `notice` is called with decisions that were made on the user's behalf.
    """
    kept = read_kept_ends(resumes) if resumes is not None else []
    ends = {scan.id: end for scan, end in zip(job.scans, kept, strict=False)}
    ranges = {}
    for scan, source in kafka_scans(job):
        if source.dead_letters is not None:
            check_dead_letters(source, _topics_to_measure(source, clients), clients, notice)
        admin = _admin(source, clients)
        ranges[scan.id] = _range(source, admin, notice, ends.get(scan.id), resumes=resumes is not None)
    for source in kafka_lookups(job):
        for topic in source.topics:
            _admin(source, clients).require_readable(topic, source.table.name)
            _admin(source, clients).require_topic(topic, source.table.name)
    if resumes is not None:
        _refuse_lost(job, clients, resumes)
    for sink in kafka_sinks(job):
        _check_sink(sink, _admin(sink, clients), notice)
    return ranges


def _check_sink(sink: KafkaSink, admin: KafkaAdmin, notice: Callable[[str], None]) -> None:
    if sink.is_exactly_once:
        check_timeout(sink, admin)
        for topic in sink.topics:
            admin.require_readable(topic, sink.table.name)  # these offsets are the progress of its writers
    for topic in sink.topics:
        admin.require_writable(topic, sink.table.name)
        if admin.ensure_topic(topic, sink.table.name):
            compaction = "; set its cleanup.policy to compact" if sink.connector == upsert_kafka.IDENTIFIER else ""
            notice(f'topic "{topic}" of table "{sink.table.name}" did not exist and was created{compaction}')


def _topics_to_measure(source: KafkaSource, clients: KafkaClients) -> tuple[str, ...]:
    if is_found_by_java(source):
        return ()
    return topics_of(source, _admin(source, clients))


def _refuse_lost(job: JobPlan, clients: KafkaClients, folder: Path) -> None:
    """Checked before Spark would notice, so that the error has the place in the script and all partitions."""
    read_up_to, kept = BatchLog(folder).read_up_to(), read_kept_ids(folder)
    for source in kafka_sources(job):
        reached = offsets_of(source, job, read_up_to)
        if source.fails_on_data_loss and reached:
            now = _topics_now({topic for topic, _ in reached}, kept, _admin(source, clients))
            refuse_lost(job.name, source, reached, now)


def _topics_now(topics: set[str], kept: Mapping[str, str], admin: KafkaAdmin) -> Topics:
    there = sorted(topics & set(admin.topics()))
    if not there:
        return Topics({}, {}, ())
    recreated = {topic for topic, identity in admin.topic_ids(there).items() if kept.get(topic, identity) != identity}
    return Topics(plain(admin.earliest(there)), plain(admin.latest(there)), recreated)


def _range(
    source: KafkaSource, admin: KafkaAdmin, notice: Callable[[str], None], ends: Offsets | None, *, resumes: bool
) -> ReadRange:
    for topic in source.topics:
        admin.require_readable(topic, source.table.name)
        if resumes:
            admin.require_topic(topic, source.table.name)
        elif admin.ensure_topic(topic, source.table.name):
            notice(f'topic "{topic}" of table "{source.table.name}" did not exist and was created; it is empty')
    if _needs_no_topics(source, resumes=resumes):
        return ReadRange(_EARLIEST)
    positions = SourcePositions(source, admin, topics_of(source, admin), notice)
    starts = None if resumes else positions.starts()
    start = _EARLIEST if starts is None else json.dumps(nest(starts))
    if source.end is None:  # even if one was stored when it had an end
        return ReadRange(start)
    return ReadRange(start, positions.ends() if ends is None else ends)


def _needs_no_topics(source: KafkaSource, *, resumes: bool) -> bool:
    """Whether only Spark can find the topics of a pattern, which is a Java pattern."""
    return source.topic_pattern is not None and (source.reads_all_there_is or (resumes and source.end is None))


def _admin(table: KafkaSource | KafkaSink, clients: KafkaClients) -> KafkaAdmin:
    return KafkaAdmin(table.properties, table.places.value, TOPIC.key, clients=clients)
