"""The folder in which the jobs of a script keep what they need to resume after a stop or a crash.

<root>/millstream.json     which jobs are stored here, and a description of their state
<root>/lock                held while a process runs these jobs
<root>/jobs/<name>/        Spark's checkpoint of one job
<root>/jobs/<name>/kernels the state of its kernels
<root>/spark.log           Spark's log
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from millstream.delivery.id_notes import IDS
from millstream.durable_files import JobFile, damage_error, make_folder, read_json, sync_folder, write_text
from millstream.errors import Code, Diagnostic, JobError
from millstream.run_folder import RunFolder
from millstream.runtime.batch_log import BatchLog
from millstream.runtime.checkpoint_marker import CLEARING, JOBS, KERNELS, MARKER, job_folder, read_jobs, write_jobs
from millstream.runtime.job_identity import StateDifference, compare_state, declare_state, kernels_of
from millstream.runtime.replay import ReplayIdentity, combine_on_error
from millstream.runtime.state_errors import missing_folder_error

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from millstream.plan.program import JobPlan

_OURS: Final = re.compile(r"(millstream\.json|clearing)(\.new)?|lock|jobs|spark\.(log(\.\d+)?|out|log4j2\.properties)")
_REPLAY: Final = "replay"
_MIXED: Final = "mixed"
_TICKS: Final = "ticks"
_BUCKET_FOLDERS: Final = "bucket folders"
"""Whether every bucket has a folder from the start: one that is missing later would count as a bucket without rows."""
_KEEP: Final = ".keep"
"""In each of them, since tools that copy files may leave out empty folders."""
_CLAIM_SECONDS: Final = 60.0
"""How long the JVM of a killed process may take to exit."""
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class JobFolder:
    """The part of the checkpoint that belongs to one job."""

    path: Path
    resumes: bool
    """Whether the job has begun a batch before."""
    buckets: int
    run_folder: Path
    """Of all jobs of this run, on the temporary disk."""
    unfinished_batch: int | None = None
    """The batch that has begun and not finished. It is processed first, by the job as it is defined now."""
    must_be_unwritten: bool = False
    """Whether the job has changed so much that it may redo the unfinished batch only if none of it has been written."""
    is_of_other_version: bool = False
    """Whether another version of Millstream ran the job last. Only that version can finish a partly written batch."""
    prefixes: Mapping[str, str] | None = None
    """The transactional id prefixes of the previous run, by exactly-once table; None if none are recorded."""
    has_ticks: bool = True
    """Whether Spark's log has ticks among the sources of the job: it must always have the same ones."""

    @property
    def state(self) -> Path:
        """What its kernels keep."""
        return self.path / KERNELS


class Checkpoint:
    """Locks the folder until `release`, so that no other process runs these jobs. A fresh one ignores existing jobs."""

    def __init__(self, root: Path, *, fresh: bool = False) -> None:
        self.root = root.absolute()
        self._lock = self._claim()
        self._changing = threading.Lock()
        """Guards the marker: jobs that a broker failure has ended restart at once, in separate threads."""
        try:
            if (self.root / CLEARING).exists():
                self._clear()
            self._jobs: dict[str, Any] = {} if fresh else read_jobs(self.root)
            self._run_folder = RunFolder()
        except BaseException:
            self._lock.close()
            raise

    @property
    def log(self) -> Path:
        return self.root / "spark.log"

    @property
    def lock(self) -> IO[str]:
        """Also inherited by Spark's JVM, which writes here too and may outlive a killed driver by a moment."""
        return self._lock

    def pin_to_checkpoint(self, job: JobPlan) -> JobPlan:
        """The job as it began, which may not be how a new one would run: with a scan per INSERT or input."""
        known = self._jobs.get(job.name)
        if known is None or not self._has_begun(job):
            return job
        ways = (job, job.reading_inputs_apart(), job.reading_apart())
        return next((way for way in ways if compare_state(known, way) is None), job)

    def find_job(self, job: JobPlan) -> JobFolder | None:
        """The folder of a job that has begun a batch before. Raises if its state was written by a different query."""
        folder = self._folder(job.name)
        if job.is_shown:
            return None
        self._check_files(job.name)
        if not self._has_begun(job):
            return None
        known = self._jobs.get(job.name)
        if known is None:
            raise JobError(
                Diagnostic(
                    Code.CHECKPOINT_MISMATCH,
                    f"{folder} holds the state of a job that {MARKER} does not mention",
                    hint="Put the file back if you have a copy, or start over with --fresh.",
                )
            )
        if (difference := compare_state(known, job)) is not None:
            raise JobError(_mismatch(self.root, job, difference))
        return JobFolder(
            folder,
            resumes=True,
            buckets=known["buckets"],
            run_folder=self._run_folder.path,
            unfinished_batch=BatchLog(folder).unfinished,
            must_be_unwritten=not _may_finish(job, known, BatchLog(folder).unfinished),
            is_of_other_version=_is_of_other_version(job, known),
            prefixes=_prefixes(job, known),
            has_ticks=known.get(_TICKS, False),
        )

    def jobs_beside(self, names: Collection[str]) -> list[str]:
        """The names of other jobs that have state here."""
        return [
            name for name in self._jobs if name not in names and BatchLog(self._folder(name)).last_begun is not None
        ]

    def check_jobs(self) -> list[str]:
        """Checks all jobs that have state here, and raises if a file is damaged."""
        for name in self._jobs:
            self._check_files(name)
        return self.jobs_beside(())

    def record_start(self, job: JobPlan) -> None:
        """Records this job as the one that runs from now on; called once nothing can refuse the start any more.

        From then on, the files that it keeps beside Spark's must exist.
        """
        if job.is_shown:
            return
        folder = self._folder(job.name)
        description = _description(job)
        has_begun = self._has_begun(job)
        for operator in kernels_of(description):
            make_folder(folder / KERNELS / operator)
            if not has_begun:
                _make_bucket_folders(folder / KERNELS / operator, self._jobs[job.name]["buckets"])
        files = sorted(str(found.relative_to(folder)) for found in _own_files(folder) if found.exists())
        with self._changing:
            before = self._jobs[job.name]
            kept = {name: before[name] for name in ("buckets", _TICKS, _BUCKET_FOLDERS) if name in before}
            now = {**kept, **description, "files": files}
            if not has_begun:
                now[_BUCKET_FOLDERS] = True
            if (mixed := _mix_on_error(before, now, BatchLog(folder).unfinished)) is not None:
                now[_MIXED] = mixed
            if now != before:
                self._jobs[job.name] = now
                write_jobs(self.root, self._jobs)

    def new_job(self, job: JobPlan, buckets: int) -> JobFolder:
        """Creates an empty folder for a job that starts from scratch."""
        folder = self._folder(job.name)
        shutil.rmtree(folder, ignore_errors=True)
        if job.is_shown:
            return JobFolder(folder, False, buckets, self._run_folder.path)
        with self._changing:
            self._jobs[job.name] = {**_description(job), "buckets": buckets, _TICKS: True}
            write_jobs(self.root, self._jobs)
        return JobFolder(folder, False, buckets, self._run_folder.path)

    def clear(self) -> None:
        """Removes all jobs. A folder that contains anything else is left untouched."""
        strangers = sorted(entry.name for entry in self.root.iterdir() if not _OURS.fullmatch(entry.name))
        if strangers:
            raise JobError(
                Diagnostic(
                    Code.CHECKPOINT_MISMATCH,
                    f"{self.root} holds files that are not a checkpoint's, so it is not cleared",
                    detail=f"Among them: {', '.join(strangers[:5])}.",
                    hint="Name another folder with --checkpoint.",
                )
            )
        write_text(self.root / CLEARING, "")
        self._clear()
        self._jobs = {}

    def _clear(self) -> None:
        """An interrupted removal is completed by the next start: a partly removed checkpoint is useless."""
        shutil.rmtree(self.root / JOBS, ignore_errors=True)
        (self.root / MARKER).unlink(missing_ok=True)
        sync_folder(self.root)
        (self.root / CLEARING).unlink()
        sync_folder(self.root)

    def release(self) -> None:
        self._run_folder.close()
        self._lock.close()

    def _has_begun(self, job: JobPlan) -> bool:
        return BatchLog(self._folder(job.name)).last_begun is not None

    def _check_files(self, job: str) -> None:
        """Raises if a file is damaged, or is missing although it existed before."""
        folder = self._folder(job)
        log = BatchLog(folder)
        log.check()
        if log.last_begun is None:
            if (folder / IDS).is_dir():
                raise damage_error(folder / "offsets", "It is empty, although messages have been written exactly-once.")
            return
        required = {folder / name for name in self._jobs.get(job, {}).get("files", ())}
        for file in sorted({*_own_files(folder), *required}):
            if read_json(file, bool, parse_layout_2=str) is None and file in required:
                raise damage_error(file, "It is missing.")
        entry = self._jobs.get(job, {})
        buckets = range(entry["buckets"] if entry.get(_BUCKET_FOLDERS) else 0)
        for operator in (folder / KERNELS / id_ for id_ in kernels_of(entry)):
            if not operator.is_dir():
                raise missing_folder_error(operator)
            for bucket in buckets:
                if not (operator / str(bucket) / _KEEP).exists():
                    raise missing_folder_error(operator / str(bucket))

    def _folder(self, job: str) -> Path:
        return job_folder(self.root, job)

    def _claim(self) -> IO[str]:
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            lock = (self.root / "lock").open("a+")
        except OSError as error:
            raise JobError(
                Diagnostic(
                    Code.CHECKPOINT_MISMATCH,
                    f"checkpoint folder {self.root} cannot be used",
                    detail=f"{error.strerror}.",
                    hint="Name another folder with --checkpoint.",
                )
            ) from error
        deadline = time.monotonic() + _CLAIM_SECONDS
        while not _try_lock(lock):
            owner = _owner(lock)
            if _is_alive(owner) or time.monotonic() > deadline:
                lock.close()
                raise JobError(
                    Diagnostic(
                        Code.CHECKPOINT_IN_USE,
                        f"checkpoint {self.root} is in use by another process",
                        detail=f"It was claimed by process {owner}." if owner else None,
                        hint="Stop the other job, or give this one a folder of its own with --checkpoint.",
                    )
                )
            time.sleep(_LOOK_SECONDS)  # its owner was killed, and Spark's JVM is still exiting
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        return lock


def _make_bucket_folders(operator: Path, buckets: int) -> None:
    for bucket in range(buckets):
        (operator / str(bucket)).mkdir(exist_ok=True)
        (operator / str(bucket) / _KEEP).touch()
        sync_folder(operator / str(bucket))
    sync_folder(operator)


def _description(job: JobPlan) -> dict[str, Any]:
    return {**declare_state(job), _REPLAY: ReplayIdentity.of(job).to_json()}


def ignore_in_copies(folder: str, names: list[str]) -> list[str]:
    """Names the files that belong to a process rather than to the jobs."""
    at_the_top = (Path(folder) / MARKER).exists()
    return [name for name in names if at_the_top and name not in (MARKER, JOBS)]


def _try_lock(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _owner(lock: IO[str]) -> int | None:
    lock.seek(0)
    written = lock.read()
    return int(written) if written.isdigit() else None


def _is_alive(process: int | None) -> bool:
    if process is None:
        return False
    with suppress(PermissionError):  # the process exists, but belongs to another user
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True


def _mismatch(root: Path, job: JobPlan, difference: StateDifference) -> Diagnostic:
    problem = "does not fit its query"
    hint = (
        "Undo the change, start over with --fresh (`millstream savepoint` keeps a copy of what is there), "
        "or name another folder with --checkpoint."
    )
    if difference.is_elsewhere:
        problem = "was written by an earlier version"
        hint = "Start over with --fresh to compute it from what topics still hold, or run the version that wrote it."
    return Diagnostic(
        Code.CHECKPOINT_MISMATCH,
        f'the state of job "{job.name}" in checkpoint {root} {problem}',
        job.roots[0].span,
        detail=difference.detail,
        hint=hint,
    )


def _own_files(folder: Path) -> list[Path]:
    """The files that a job may keep, in its own folder or in that of a table it reads."""
    return [place / name for place in (folder, *folder.glob("sources/*")) for name in JobFile]


def _may_finish(job: JobPlan, known: Mapping[str, Any], unfinished: int | None) -> bool:
    if _REPLAY not in known:
        return False
    before = ReplayIdentity.from_json(known[_REPLAY])
    mixed = known.get(_MIXED)
    if mixed is not None and mixed["batch"] == unfinished:
        before = replace(before, on_error=tuple(mixed["on_error"]))
    return ReplayIdentity.of(job).may_finish(before)


def _is_of_other_version(job: JobPlan, known: Mapping[str, Any]) -> bool:
    if _REPLAY not in known:
        return True
    return not ReplayIdentity.of(job).is_comparable(ReplayIdentity.from_json(known[_REPLAY]))


def _mix_on_error(before: Mapping[str, Any], now: Mapping[str, Any], unfinished: int | None) -> dict[str, Any] | None:
    """How unreadable messages of an unfinished batch were handled, over all starts that wrote a part of it."""
    if unfinished is None or _REPLAY not in before:
        return None
    earlier = before.get(_MIXED, {})
    then = earlier["on_error"] if earlier.get("batch") == unfinished else before[_REPLAY]["on_error"]
    return {"batch": unfinished, "on_error": combine_on_error(then, now[_REPLAY]["on_error"])}


def _prefixes(job: JobPlan, known: Mapping[str, Any]) -> Mapping[str, str] | None:
    """Earlier versions stored no prefixes. Those in `delivery.json` may belong to a run before the last one."""
    if _REPLAY in known:
        return dict(known[_REPLAY]["prefixes"])
    return None if _may_finish(job, known, None) else {}
