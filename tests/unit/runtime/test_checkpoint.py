"""The checkpoint folder: claimed by one, cleared only if it is ours."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from millstream.delivery.id_notes import IDS, note_id
from millstream.durable_files import JobFile, write_json
from millstream.errors import Code, JobError
from millstream.plan.program import compile_script
from millstream.runtime.checkpoint import Checkpoint, JobFolder
from millstream.runtime.earlier_identities import describe_state
from millstream.runtime.job_identity import compare_state, declare_state
from millstream.source import SourceText
from tests.begun_batches import begin_a_batch, end_a_batch

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.plan.program import JobPlan
    from millstream.runtime.checkpoint import JobFolder


def insert(
    aggregate: str = "COUNT(*)",
    native: str = "auto",
    where: str = "TRUE",
    reading: str | None = None,
    sink: str = "../counts",
) -> JobPlan:
    options = "" if reading is None else f", {reading}"
    script = f"""
    CREATE TABLE t (a BIGINT, b STRING) WITH (
      'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json'{options});
    CREATE TABLE `{sink}` (b STRING, n BIGINT, PRIMARY KEY (b) NOT ENFORCED) WITH (
      'connector' = 'upsert-kafka', 'topic' = 'c', 'properties.bootstrap.servers' = 'x:9092',
      'key.format' = 'json', 'value.format' = 'json');
    INSERT INTO `{sink}` SELECT b, {aggregate} FROM t WHERE {where} GROUP BY b;
    """
    return compile_script(SourceText("s", script), {}, {"millstream.aggregate.native": native}).jobs[0]


def test_job_is_found_again_with_its_buckets(tmp_path: Path) -> None:
    first = Checkpoint(tmp_path)
    assert first.find_job(insert()) is None
    begin_a_batch(first.new_job(insert(), buckets=5).path)
    first.release()
    second = Checkpoint(tmp_path)
    found = second.find_job(insert())
    second.release()
    assert found is not None
    assert (found.resumes, found.buckets) == (True, 5)


@pytest.mark.parametrize("has_ticks", [True, False])
def test_job_keeps_the_sources_it_began_with(tmp_path: Path, *, has_ticks: bool) -> None:
    """A job that began before there were ticks has none among the offsets of its batches, and goes on without."""
    job = insert(native="never")
    checkpoint = Checkpoint(tmp_path)
    folder = checkpoint.new_job(job, buckets=5)
    assert folder.has_ticks
    if not has_ticks:
        del checkpoint._jobs[job.name]["ticks"]
    for _ in range(2):
        checkpoint.record_start(job)
        begin_a_batch(folder.path)
        checkpoint.release()
        checkpoint = Checkpoint(tmp_path)
        found = checkpoint.find_job(job)
        assert found is not None
        assert found.has_ticks is has_ticks
    checkpoint.release()


def test_other_state_is_refused_only_if_there_is_any(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    folder = checkpoint.new_job(insert(), buckets=5).path
    assert checkpoint.find_job(insert("SUM(a)")) is None
    begin_a_batch(folder)
    with pytest.raises(JobError) as caught:
        checkpoint.find_job(insert("SUM(a)"))
    checkpoint.release()
    assert caught.value.code is Code.CHECKPOINT_MISMATCH


LISTED = "CAST(CARDINALITY(ARRAY_AGG(a){}) AS BIGINT)"


def test_state_of_kernels_that_spark_kept_is_refused(tmp_path: Path) -> None:
    """As versions 1 to 3 had it, of which the first also said less."""
    job = insert(LISTED.format(""))
    checkpoint = Checkpoint(tmp_path)
    begin_a_batch(checkpoint.new_job(job, buckets=5).path)
    checkpoint.release()
    state = ['group by ["b" STRING] compute [ARRAY_AGG "a" BIGINT]', "read t"]
    marker = json.dumps({"layout": 2, "jobs": {job.name: {"state": state, "buckets": 5}}})
    (tmp_path / "millstream.json").write_text(marker)
    checkpoint = Checkpoint(tmp_path)
    with pytest.raises(JobError, match="Spark's state store") as refused:
        checkpoint.find_job(job)
    checkpoint.release()
    assert "--fresh" in (refused.value.diagnostics[0].hint or "")


def test_job_begun_on_the_kernel_stays_there(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    folder = checkpoint.new_job(insert(native="never"), buckets=5).path
    checkpoint.record_start(insert(native="never"))
    assert checkpoint.pin_to_checkpoint(insert()).explain() == insert().explain()
    begin_a_batch(folder)
    assert "[kernel]" in checkpoint.pin_to_checkpoint(insert()).explain()
    assert checkpoint.find_job(checkpoint.pin_to_checkpoint(insert())) is not None
    assert checkpoint.pin_to_checkpoint(insert("SUM(a)")).explain() == insert("SUM(a)").explain()
    checkpoint.release()
    assert json.loads((tmp_path / "millstream.json").read_text())["content"]["jobs"]["../counts"]["identity"] == 5


def test_kernel_state_of_an_earlier_version_is_told_from_a_changed_script(tmp_path: Path) -> None:
    """Also if a new job would run on Spark's own operator; a job that began there goes on."""
    checkpoint = Checkpoint(tmp_path)
    for native in ("auto", "never"):
        folder = checkpoint.new_job(insert(native=native), buckets=5).path
        checkpoint.record_start(insert(native=native))
        begin_a_batch(folder)
        checkpoint._jobs["../counts"]["identity"] = 4
        pinned = checkpoint.pin_to_checkpoint(insert())
        if native == "auto":
            assert checkpoint.find_job(pinned) is not None
            continue
        with pytest.raises(JobError, match="files of another layout") as refused:
            checkpoint.find_job(pinned)
        assert "run the version that wrote it" in str(refused.value)
    checkpoint.release()


def test_job_begun_natively_is_not_moved_to_the_kernel(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    begin_a_batch(checkpoint.new_job(insert(), buckets=5).path)
    assert checkpoint.find_job(checkpoint.pin_to_checkpoint(insert())) is not None
    with pytest.raises(JobError) as refused:
        checkpoint.find_job(checkpoint.pin_to_checkpoint(insert(native="never")))
    checkpoint.release()
    assert refused.value.code is Code.CHECKPOINT_MISMATCH
    assert "'millstream.aggregate.native' = 'never'" in str(refused.value)


def test_state_of_which_nothing_is_known_is_not_thrown_away(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    folder = checkpoint.new_job(insert(), buckets=5).path
    begin_a_batch(folder)
    checkpoint.release()
    (tmp_path / "millstream.json").unlink()
    checkpoint = Checkpoint(tmp_path)
    with pytest.raises(JobError) as caught:
        checkpoint.find_job(insert())
    checkpoint.release()
    assert caught.value.code is Code.CHECKPOINT_MISMATCH
    assert (folder / "offsets" / "0").exists()


def test_table_names_stay_inside_the_folder(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "c")
    folder = checkpoint.new_job(insert(), buckets=1).path
    checkpoint.release()
    assert folder.parent == tmp_path / "c" / "jobs"


@pytest.mark.parametrize("stranger", ["thesis.txt", "jobs-of-mine", "spark.ipynb", "lockers.csv"])
def test_clear_touches_nothing_where_there_are_strangers(tmp_path: Path, stranger: str) -> None:
    (tmp_path / stranger).write_text("years of work")
    checkpoint = Checkpoint(tmp_path)
    checkpoint.new_job(insert(), buckets=1).path.mkdir(parents=True)
    with pytest.raises(JobError):
        checkpoint.clear()
    checkpoint.release()
    assert (tmp_path / stranger).read_text() == "years of work"
    assert list((tmp_path / "jobs").iterdir())


def test_clear_forgets_all_jobs(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    begin_a_batch(checkpoint.new_job(insert(), buckets=1).path)
    for name in ("spark.log", "millstream.json.new", "clearing.new"):  # a crash leaves files half written
        (tmp_path / name).touch()
    checkpoint.clear()
    assert checkpoint.find_job(insert("SUM(a)")) is None
    checkpoint.release()


def test_changed_job_is_told_from_the_one_that_ran_last(tmp_path: Path) -> None:
    """Only while a batch is unfinished does it matter to sinks that may hold a part of it."""
    checkpoint = Checkpoint(tmp_path)
    begin_a_batch(checkpoint.new_job(insert(), buckets=5).path)
    assert find_folder(checkpoint, insert()).unfinished_batch == 0
    assert not find_folder(checkpoint, insert()).must_be_unwritten
    assert find_folder(checkpoint, insert(where="a > 3")).must_be_unwritten
    checkpoint.record_start(insert(where="a > 3"))
    checkpoint.release()
    again = Checkpoint(tmp_path)
    assert not find_folder(again, insert(where="a > 3")).must_be_unwritten
    assert find_folder(again, insert()).must_be_unwritten
    again.release()


def test_what_was_done_with_unreadable_messages_is_not_forgotten_while_the_batch_lasts(tmp_path: Path) -> None:
    """A job that fails on them may come between two that do not."""
    skips, sets_aside = "'json.ignore-parse-errors' = 'true'", "'scan.dead-letter.topic' = 'bad'"
    checkpoint = Checkpoint(tmp_path)
    folder = checkpoint.new_job(insert(reading=skips), buckets=5).path
    begin_a_batch(folder)
    for reading in (skips, None, None):
        assert not find_folder(checkpoint, insert(reading=reading)).must_be_unwritten
        checkpoint.record_start(insert(reading=reading))
    assert find_folder(checkpoint, insert(reading=sets_aside)).must_be_unwritten
    end_a_batch(folder)
    begin_a_batch(folder, 1)
    assert not find_folder(checkpoint, insert(reading=sets_aside)).must_be_unwritten
    checkpoint.release()


def test_jobs_that_start_again_at_once_are_all_recorded(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    jobs = [insert(sink=f"counts{number}") for number in range(4)]
    for job in jobs:
        checkpoint.new_job(job, buckets=5)

    def start_again(job: JobPlan) -> None:
        for number in range(30):
            ((tmp_path / "jobs" / job.name).mkdir(parents=True, exist_ok=True))
            write_json(tmp_path / "jobs" / job.name / JobFile.TASKS, str(number))
            checkpoint.record_start(job)
            (tmp_path / "jobs" / job.name / JobFile.TASKS).unlink()
            checkpoint.record_start(job)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(start_again, jobs))
    checkpoint.release()
    Checkpoint(tmp_path).release()


@pytest.mark.parametrize("steps", range(4))
def test_clearing_that_was_broken_off_is_brought_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    checkpoint = Checkpoint(tmp_path)
    folder = checkpoint.new_job(insert(), buckets=5).path
    begin_a_batch(folder)
    end_a_batch(folder)
    checkpoint.record_start(insert())
    removed: list[Path] = []

    def break_off(*_: object, **__: object) -> None:
        for file in sorted(folder.rglob("*"), reverse=True)[:steps]:
            removed.append(file)
            file.rmdir() if file.is_dir() else file.unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr("shutil.rmtree", break_off)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.clear()
    monkeypatch.undo()
    checkpoint.release()
    assert len(removed) == steps
    again = Checkpoint(tmp_path)
    assert again.find_job(insert()) is None
    assert not folder.exists()
    again.release()


def test_batch_of_a_version_that_did_not_say_how_it_began_is_that_version_s(tmp_path: Path) -> None:
    """`delivery.json` may be of a run before the last."""
    checkpoint = Checkpoint(tmp_path)
    begin_a_batch(checkpoint.new_job(insert(), buckets=5).path)
    checkpoint._jobs["../counts"] = {"state": describe_state(insert(), 2), "identity": 2, "buckets": 5}
    kept = find_folder(checkpoint, insert())
    assert (kept.prefixes, kept.must_be_unwritten, kept.is_of_other_version) == ({}, True, True)
    checkpoint.release()


def test_batch_behind_an_exchange_is_the_version_s_that_began_it(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    begin_a_batch(checkpoint.new_job(insert(), buckets=5).path)
    del checkpoint._jobs["../counts"]["replay"]["version"]
    checkpoint._jobs["../counts"]["replay"]["exchanged"] = "of version 1"
    kept = find_folder(checkpoint, insert())
    assert (kept.must_be_unwritten, kept.is_of_other_version) == (True, True)
    checkpoint.release()


def find_folder(checkpoint: Checkpoint, job: JobPlan) -> JobFolder:
    folder = checkpoint.find_job(job)
    assert folder is not None
    return folder


def test_jobs_of_other_names_are_known(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    folder = checkpoint.new_job(insert(), buckets=5).path
    assert checkpoint.jobs_beside(["other"]) == []
    begin_a_batch(folder)
    assert checkpoint.jobs_beside(["other"]) == ["../counts"]
    assert checkpoint.jobs_beside(["../counts"]) == []
    checkpoint.release()


@pytest.mark.parametrize("before", ['"buckets": 5', '"state": {', "COUNT(*)"])
def test_marker_that_changed_on_the_disk(tmp_path: Path, before: str) -> None:
    checkpoint = Checkpoint(tmp_path)
    begin_a_batch(checkpoint.new_job(insert(), buckets=5).path)
    checkpoint.release()
    marker = tmp_path / "millstream.json"
    assert before in marker.read_text()
    marker.write_text(
        marker.read_text().replace(before, before.replace("5", "6").replace("{", "7,{").replace("*", "a"))
    )
    with pytest.raises(JobError) as caught:
        Checkpoint(tmp_path)
    assert caught.value.code is Code.CHECKPOINT_MISMATCH
    assert "millstream.json" in str(caught.value)


def test_state_without_its_batches_is_not_taken_for_a_new_job(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    folder = checkpoint.new_job(insert(), buckets=5).path
    begin_a_batch(folder)
    end_a_batch(folder)
    (folder / "offsets" / "0").unlink()
    with pytest.raises(JobError, match="offsets of the checkpoint is damaged"):
        checkpoint.find_job(insert())
    checkpoint.release()


@pytest.mark.parametrize("content", ["[]", "{", '{"layout": 99, "jobs": {}}', '{"layout": 1}'])
def test_unreadable_marker(tmp_path: Path, content: str) -> None:
    (tmp_path / "millstream.json").write_text(content)
    with pytest.raises(JobError) as caught:
        Checkpoint(tmp_path)
    assert caught.value.code is Code.CHECKPOINT_MISMATCH


@pytest.mark.parametrize("checksum", ['"checksum": "{}", ', ""])
def test_checkpoint_of_layout_2_goes_on(tmp_path: Path, checksum: str) -> None:
    jobs = {"../counts": {"state": describe_state(insert(), 1), "buckets": 7}}
    stored = checksum.format(hashlib.sha256(json.dumps(jobs, sort_keys=True).encode()).hexdigest()[:16])
    marker = tmp_path / "millstream.json"
    marker.write_text(f'{{"layout": 2, {stored}"jobs": {json.dumps(jobs)}}}')
    folder = tmp_path / "jobs" / "%2E%2E%2Fcounts"
    begin_a_batch(folder)
    (folder / "topics.json").write_text('{"t": "id-of-t"}')
    checkpoint = Checkpoint(tmp_path)
    found = checkpoint.find_job(insert())
    assert found is not None
    assert (found.path, found.buckets, found.must_be_unwritten) == (folder, 7, True)
    checkpoint.record_start(insert())
    checkpoint.release()
    (folder / "topics.json").unlink()
    with pytest.raises(JobError, match=r"topics\.json of the checkpoint is damaged"):
        find(tmp_path)
    marker.write_text(f'{{"layout": 2, "checksum": "0123456789abcdef", "jobs": {json.dumps(jobs)}}}')
    with pytest.raises(JobError, match=r"millstream\.json of the checkpoint is damaged"):
        find(tmp_path)


@pytest.mark.parametrize("name", JobFile)
def test_file_that_was_there_must_be_there(tmp_path: Path, name: JobFile) -> None:
    checkpoint = Checkpoint(tmp_path)
    folder = checkpoint.new_job(insert(), buckets=5).path
    write_json(folder / name, "something")
    checkpoint.record_start(insert())
    checkpoint.release()
    begin_a_batch(folder)
    assert find(tmp_path) is not None
    (folder / name).unlink()
    with pytest.raises(JobError) as caught:
        find(tmp_path)
    assert caught.value.code is Code.CHECKPOINT_MISMATCH
    assert str(folder / name) in caught.value.diagnostics[0].primary


def test_files_that_never_were_there_are_not_missed(tmp_path: Path) -> None:
    """A job may read no topic, and may come to write exactly-once later."""
    checkpoint = Checkpoint(tmp_path)
    begin_a_batch(checkpoint.new_job(insert(), buckets=5).path)
    checkpoint.record_start(insert())
    checkpoint.release()
    assert find(tmp_path) is not None


def test_messages_written_exactly_once_without_their_batches(tmp_path: Path) -> None:
    """A new run would write them again."""
    checkpoint = Checkpoint(tmp_path)
    folder = checkpoint.new_job(insert(), buckets=5).path
    checkpoint.release()
    assert find(tmp_path) is None
    note_id(folder / IDS, "shop-p0")
    with pytest.raises(JobError, match="offsets of the checkpoint is damaged"):
        find(tmp_path)


def test_fresh_start_needs_no_readable_marker(tmp_path: Path) -> None:
    (tmp_path / "millstream.json").write_text("")
    checkpoint = Checkpoint(tmp_path, fresh=True)
    checkpoint.clear()
    checkpoint.new_job(insert(), buckets=5)
    checkpoint.release()
    Checkpoint(tmp_path).release()


@pytest.mark.parametrize("table", ["x" * 200, "ü" * 100, "订单" * 60, "../" * 60])
@pytest.mark.parametrize("inserts", [1, 20])
def test_jobs_with_long_names_have_folders(tmp_path: Path, table: str, inserts: int) -> None:
    names = ["+".join(f"{table}{number}" for number in range(inserts)) + end for end in ("", "-2")]
    folders = set()
    checkpoint = Checkpoint(tmp_path)
    for name in names:
        folder = checkpoint.new_job(replace(insert(), name=name), buckets=5)
        begin_a_batch(folder.path)
        folder.state.mkdir()
        folders.add(folder.path)
    checkpoint.release()
    assert len(folders) == len(names)
    again = Checkpoint(tmp_path)
    assert again.check_jobs() == names
    again.release()


def find(root: Path) -> JobFolder | None:
    checkpoint = Checkpoint(root)
    try:
        return checkpoint.find_job(insert())
    finally:
        checkpoint.release()


def test_folder_of_a_living_process_is_refused_at_once(tmp_path: Path) -> None:
    held = Checkpoint(tmp_path)
    with pytest.raises(JobError) as refused:
        Checkpoint(tmp_path)
    assert refused.value.code is Code.CHECKPOINT_IN_USE
    assert f"process {os.getpid()}" in str(refused.value)
    held.release()
    Checkpoint(tmp_path).release()


def test_folder_of_a_killed_process_is_waited_for(tmp_path: Path) -> None:
    """Spark's JVM holds the lock for a moment longer than the driver that was killed."""
    hold = "import fcntl, sys; fcntl.flock(open(sys.argv[1], 'a'), fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", "pass"]) as owner:
        pass
    (tmp_path / "lock").write_text(str(owner.pid))
    lingering = subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with lingering:
        assert lingering.stdout is not None
        assert lingering.stdin is not None
        lingering.stdout.readline()
        threading.Timer(0.3, lingering.stdin.close).start()
        Checkpoint(tmp_path).release()
        assert lingering.wait(10) == 0


@pytest.mark.parametrize(
    ("then", "now", "is_refused"),
    [
        ("'format' = 'json'", "'format' = 'debezium-json'", True),
        ("'format' = 'debezium-json'", "'format' = 'canal-json'", False),
    ],
)
def test_single_values_are_state_only_where_rows_may_go(then: str, now: str, *, is_refused: bool) -> None:
    before, after = greatest(then), greatest(now)
    assert (compare_state(declare_state(before), after) is not None) is is_refused
    assert (describe_state(before, 2) != describe_state(after, 2)) is is_refused


def greatest(options: str) -> JobPlan:
    script = f"""
    CREATE TABLE t (a INT, b INT) WITH (
      'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:9092', {options});
    SELECT a, MAX(b) FROM t GROUP BY a;
    """
    return compile_script(SourceText("s", script), {}, {}).jobs[0]
