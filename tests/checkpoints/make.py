"""Makes the checkpoints that are kept, with the version of Millstream that is imported.

    python -m tests.checkpoints.make FOLDER [NAME …]
    PYTHONPATH=../older/src python -m tests.checkpoints.make tests/fixtures/checkpoints/identity-2

runs each job FOLDER/NAME.toml on a broker of its own and writes FOLDER/NAME.tar.gz: the checkpoint as `millstream
savepoint` copies it, and `kafka.json`, which is what else the job needs when it goes on. An archive that is there is
kept: it is what that version left.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from millstream.delivery.id_notes import IDS, read_ids
from millstream.failpoints import VARIABLE
from millstream.testing.broker import EmbeddedBroker
from millstream.testing.script_kafka import ScriptKafka
from tests.checkpoints.kept_job import CHECKPOINT, KAFKA, WORK_FOLDER, KeptJob
from tests.checkpoints.rewriting import replace_in_files

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMAND: Final = (sys.executable, "-m", "millstream.cli.main")
_SETTINGS: Final = "SET 'parallelism.default' = '2';\n"
_ONE_BY_ONE: Final = ("--master", "local[1]")
"""Of two tasks, the second has not begun when the first ends the job."""
_SECONDS: Final = 60.0


def make(job: KeptJob, brokers: str, folder: Path) -> None:
    kafka = ScriptKafka(brokers)
    for topic, partitions in job.topics.items():
        kafka.create_topic(topic, partitions)
    script = folder / "job.sql"
    script.write_text(_SETTINGS + job.script)
    job.feed("first", kafka, folder)
    ended = _run(job, brokers, script)
    assert ended.returncode == 0, ended.stderr
    if job.failpoint is not None:
        job.feed("begun", kafka, folder)
        ended = _run(job, brokers, script, *_ONE_BY_ONE, armed=job.failpoint)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
    copy = folder / "copy"
    copied = _millstream(folder, "savepoint", CHECKPOINT, copy.name)
    assert copied.returncode == 0, copied.stderr
    _abort_open_transactions(brokers, copy)
    surroundings = _record_kafka(job, brokers)
    _check_progress(job, copy, surroundings["progress"])
    replace_in_files(copy, str(folder), WORK_FOLDER)
    _write_archive(job.archive, copy, json.dumps(surroundings, indent=1))


def _run(
    job: KeptJob, brokers: str, script: Path, *options: str, armed: str | None = None
) -> subprocess.CompletedProcess[str]:
    parameters = [f"--param={name}={value}" for name, value in job.parameters(brokers).items()]
    environment = {} if armed is None else {VARIABLE: armed}
    arguments = ("run", script.name, *parameters, "--drain", "--checkpoint", CHECKPOINT, "--output", "json", *options)
    return _millstream(script.parent, *arguments, environment=environment)


def _millstream(
    folder: Path, *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_COMMAND, *arguments],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )


def _abort_open_transactions(brokers: str, checkpoint: Path) -> None:
    """As the next start does first: until then, the messages after them cannot be read."""
    for folder in checkpoint.glob(f"jobs/*/{IDS}"):
        for transactional_id in read_ids(folder):
            producer = Producer({"bootstrap.servers": brokers, "transactional.id": transactional_id})
            producer.init_transactions(_SECONDS)


def _record_kafka(job: KeptJob, brokers: str) -> dict[str, Any]:
    """All messages of all topics, and the progress of writers by group."""
    kafka, admin = ScriptKafka(brokers), AdminClient({"bootstrap.servers": brokers})
    contents = {topic: [[found.partition, found.message.line] for found in kafka.read(topic)] for topic in job.topics}
    groups = [entry.group_id for entry in admin.list_consumer_groups().result(_SECONDS).valid]
    progress = []
    for topic in job.topics:
        for group in sorted(each for each in groups if each.startswith(f"{topic}-")):
            consumer = Consumer({"bootstrap.servers": brokers, "group.id": group})
            [found] = consumer.committed([TopicPartition(topic, 0)], _SECONDS)
            progress.append({"group": group, "topic": topic, "offset": found.offset, "metadata": found.metadata})
            consumer.close()
    return {"topics": contents, "progress": progress}


def _check_progress(job: KeptJob, checkpoint: Path, progress: Sequence[dict[str, Any]]) -> None:
    """Checks that the unfinished batch is written as far as the job declares."""
    if job.failpoint is None:
        return
    [offsets] = checkpoint.glob("jobs/*/offsets")
    batch = max(int(file.name) for file in offsets.iterdir() if file.name.isdigit())
    assert not (offsets.parent / "commits" / str(batch)).exists()
    done = [entry["offset"] > batch for entry in progress if not entry["group"].endswith("-claim")]
    found = "nothing" if not any(done) else "all" if all(done) else "in part"
    assert found == job.declaration["written"], f"{job.name}: {found} of batch {batch} is written: {progress}"


def _write_archive(archive: Path, checkpoint: Path, surroundings: str) -> None:
    """Without anything specific to this machine."""
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for entry in sorted(each for each in checkpoint.rglob("*") if each.is_file()):
            _add(tar, f"{CHECKPOINT}/{entry.relative_to(checkpoint)}", entry.read_bytes())
        _add(tar, KAFKA, surroundings.encode())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def main(folder: str, *names: str) -> None:
    jobs = [KeptJob(file) for file in sorted(Path(folder).glob("*.toml")) if not names or file.stem in names]
    missing = [job for job in jobs if not job.archive.exists()]
    with EmbeddedBroker() as broker:
        for job in missing:
            with tempfile.TemporaryDirectory() as work:
                make(job, broker.bootstrap, Path(work))
            print(f"{job.archive}: {job.archive.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
