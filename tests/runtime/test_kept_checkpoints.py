"""Jobs resume from checkpoints of earlier versions, and are refused if their script has changed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from millstream import Session
from millstream.errors import Code, JobError
from millstream.runtime.checkpoint import Checkpoint
from millstream.testing.script_kafka import ScriptKafka
from millstream.testing.script_messages import fold, in_key_order
from tests.checkpoints.kept_job import kept_jobs
from tests.checkpoints.restoring import restore, unpack

if TYPE_CHECKING:
    from pathlib import Path

    from _pytest.mark import ParameterSet
    from pyspark.sql import SparkSession

    from millstream.runtime.checkpoint import JobFolder
    from tests.checkpoints.kept_job import Change, KeptJob

JOBS = kept_jobs()
RESUMABLE = [job for job in JOBS if job.refusal is None]
IN_EVERY_RUN = ("identity-5-kernel-aggregate", "identity-5-join", "identity-5-once-partly-written")
"""The others take as long again, and are checked without Spark."""
NO_BROKER = "localhost:1"


def each_job() -> list[ParameterSet]:
    marks = {job: () if job.id in IN_EVERY_RUN else (pytest.mark.slow,) for job in RESUMABLE}
    return [pytest.param(job, id=job.id, marks=marks[job]) for job in RESUMABLE]


def each_refused_job() -> list[ParameterSet]:
    """In every run, one per folder."""
    refused = [job for job in JOBS if job.refusal is not None]
    first = {job.file.parent: job.id for job in reversed(refused)}.values()
    return [pytest.param(job, id=job.id, marks=() if job.id in first else (pytest.mark.slow,)) for job in refused]


def each_change(outcome: str) -> list[ParameterSet]:
    return [
        pytest.param(job, change, id=f"{job.id}-{number}")
        for job in (JOBS if outcome == "refused" else RESUMABLE)
        for number, change in enumerate(job.changes(outcome))
    ]


def find_jobs(root: Path, job: KeptJob, script: str) -> list[JobFolder | None]:
    """Finds the jobs of a script in the checkpoint, before Kafka is asked and Spark is started."""
    program = Session(checkpoint=root).compile(script, parameters=job.parameters(NO_BROKER))
    checkpoint = Checkpoint(root)
    try:
        return [checkpoint.find_job(plan) for plan in program.jobs]
    finally:
        checkpoint.release()


def drain(root: Path, job: KeptJob, script: str, brokers: str, spark: SparkSession) -> None:
    with Session(spark, checkpoint=root, settings={"parallelism.default": "2"}) as session:
        for running in session.execute_sql(script, parameters=job.parameters(brokers), drain=True):
            assert running.resumes
            running.await_end()


def assert_expected(job: KeptJob, brokers: str) -> None:
    kafka = ScriptKafka(brokers)
    for topic, table in job.expected_messages("table").items():
        assert fold(kafka.read(topic)) == in_key_order(table)
    for topic, messages in job.expected_messages("messages").items():
        assert Counter(found.message for found in kafka.read(topic)) == Counter(messages)


@pytest.mark.parametrize("job", each_job())
def test_goes_on(
    job: KeptJob, broker: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    root = restore(job, broker, tmp_path)
    job.feed("second", ScriptKafka(broker), tmp_path)
    drain(root, job, job.script, broker, spark)
    assert_expected(job, broker)
    assert all(found is not None for found in find_jobs(root, job, job.script))


@pytest.mark.parametrize("job", [pytest.param(job, id=job.id) for job in JOBS if job.refusal is not None])
def test_refuses_a_job_that_only_the_version_that_made_it_continues(job: KeptJob, tmp_path: Path) -> None:
    with pytest.raises(JobError) as refused:
        find_jobs(unpack(job, tmp_path), job, job.script)
    assert_way_out(refused.value, job.refusal or "")


@pytest.mark.parametrize("job", each_refused_job())
def test_leaves_its_job_to_the_version_that_made_it(
    job: KeptJob, broker: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    root = restore(job, broker, tmp_path)
    written = {topic: ScriptKafka(broker).read(topic) for topic in job.topics}
    with pytest.raises(JobError) as refused:
        drain(root, job, job.script, broker, spark)
    assert_way_out(refused.value, job.refusal or "")
    assert {topic: ScriptKafka(broker).read(topic) for topic in job.topics} == written


@pytest.mark.parametrize("job", [pytest.param(job, id=job.id) for job in RESUMABLE])
def test_recognises_its_job(job: KeptJob, tmp_path: Path) -> None:
    for found in find_jobs(unpack(job, tmp_path), job, job.script):
        assert found is not None
        assert found.resumes
        assert (found.unfinished_batch is not None) == (job.failpoint is not None)
        is_of_this_version = not found.is_of_other_version
        assert found.must_be_unwritten is not is_of_this_version


@pytest.mark.parametrize(("job", "change"), each_change("accepted"))
def test_goes_on_with_a_change_beside_the_state(job: KeptJob, change: Change, tmp_path: Path) -> None:
    assert all(find_jobs(unpack(job, tmp_path), job, change.apply(job.script)))


@pytest.mark.parametrize(("job", "change"), each_change("refused"))
def test_refuses_another_state(job: KeptJob, change: Change, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Session(checkpoint=unpack(job, tmp_path)) as session, pytest.raises(JobError) as refused:
        session.execute_sql(change.apply(job.script), parameters=job.parameters(NO_BROKER))
    assert_way_out(refused.value, change.says)


@pytest.mark.parametrize(("job", "change"), each_change("refused_by_kafka"))
def test_refuses_the_rest_of_a_batch(
    job: KeptJob, change: Change, broker: str, spark: SparkSession, tmp_path: Path
) -> None:
    root = restore(job, broker, tmp_path)
    written = {topic: ScriptKafka(broker).read(topic) for topic in job.topics}
    with pytest.raises(JobError) as refused:
        drain(root, job, change.apply(job.script), broker, spark)
    assert_way_out(refused.value, change.says)
    assert {topic: ScriptKafka(broker).read(topic) for topic in job.topics} == written


def assert_way_out(refusal: JobError, says: str) -> None:
    [diagnostic] = refusal.diagnostics
    assert diagnostic.code is Code.CHECKPOINT_MISMATCH
    assert says in diagnostic.render()
    assert diagnostic.hint is not None
    assert any(way in diagnostic.hint.lower() for way in ("undo", "--drain", "the version that wrote it"))
    assert "--fresh" in diagnostic.hint
