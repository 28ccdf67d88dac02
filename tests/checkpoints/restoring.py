"""Restores a kept checkpoint, with the topics that it has read and written."""

from __future__ import annotations

import json
import tarfile
import time
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka.admin import AdminClient

from millstream.delivery.committed import group
from millstream.durable_files import JobFile
from millstream.runtime.kafka.admin import KafkaAdmin
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import parse_message
from tests.checkpoints.kept_job import CHECKPOINT, KAFKA, WORK_FOLDER
from tests.checkpoints.rewriting import replace_begin, replace_content, replace_in_files
from tests.runtime.topics import delete_topic

if TYPE_CHECKING:
    from pathlib import Path

    from tests.checkpoints.kept_job import KeptJob

_SECONDS: Final = 30.0


def unpack(job: KeptJob, folder: Path) -> Path:
    """The checkpoint's folder; the files that its job has read are in `folder`."""
    with tarfile.open(job.archive) as archive:
        archive.extractall(folder, filter="data")
    for sources in (folder / CHECKPOINT).glob("jobs/*/sources"):
        replace_in_files(sources, WORK_FOLDER, str(folder))
    job.write_files("first", folder)
    return folder / CHECKPOINT


def restore(job: KeptJob, brokers: str, folder: Path) -> Path:
    """The checkpoint's folder; Kafka contains what it did when the checkpoint was made."""
    checkpoint = unpack(job, folder)
    surroundings: dict[str, Any] = json.loads((folder / KAFKA).read_text())
    kafka, admin = ScriptKafka(brokers), KafkaAdmin({"bootstrap.servers": brokers})
    _remove_leftovers(job, brokers, admin)
    for topic, partitions in job.topics.items():
        kafka.create_topic(topic, partitions)
        for partition, lines in groupby(surroundings["topics"][topic], key=lambda entry: entry[0]):
            kafka.produce(topic, [parse_message(line) for _, line in lines], partition)
    for entry in surroundings["progress"]:
        with group({"bootstrap.servers": brokers}, entry["group"], entry["topic"]) as progress:
            progress.write(entry["offset"], entry["metadata"])
    _adopt_topics(checkpoint, admin)
    return checkpoint


def _remove_leftovers(job: KeptJob, brokers: str, admin: KafkaAdmin) -> None:
    """Of an earlier test on the same broker: topics have the names that are in the checkpoint."""
    client = AdminClient({"bootstrap.servers": brokers})
    for topic in job.topics:
        if groups := sorted(admin.groups(f"{topic}-")):
            for deleted in client.delete_consumer_groups(groups).values():
                deleted.result(_SECONDS)
        if admin.partitions(topic) is not None:
            delete_topic(brokers, topic)


def _adopt_topics(checkpoint: Path, admin: KafkaAdmin) -> None:
    for folder in checkpoint.glob("jobs/*"):
        replace_content(folder / JobFile.TOPIC_IDS, admin.topic_ids)
        replace_content(folder / JobFile.DELIVERY, lambda content: _on_cluster(content, admin.cluster()))
        begun = max((file for file in folder.glob("offsets/*") if file.name.isdigit()), key=lambda file: int(file.name))
        replace_begin(begun, time.time_ns() // 1_000_000)


def _on_cluster(content: dict[str, Any], cluster: str | None) -> dict[str, Any]:
    tables = {name: {**kept, "cluster": cluster} for name, kept in content["tables"].items()}
    return {**content, "tables": tables}
