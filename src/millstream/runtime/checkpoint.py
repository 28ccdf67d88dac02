"""Where a script's jobs keep what they need to go on after a stop or a crash.

<root>/millstream.json     which jobs live here and what their state is made of
<root>/lock                held while a process runs these jobs
<root>/jobs/<name>/        Spark's checkpoint of one job
<root>/spark.log           what Spark had to say
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import quote

from millstream.catalog.settings import AGGREGATE_NATIVE, NativeAggregate
from millstream.errors import Code, Diagnostic, JobError
from millstream.kernels.cache_folder import CacheFolder
from millstream.plan.rules.choose_operators import on_kernel
from millstream.runtime.batch_log import BatchLog
from millstream.runtime.job_identity import IDENTITY, NATIVELY, fingerprint, state_of, told_changes

if TYPE_CHECKING:
    from collections.abc import Collection

    from millstream.plan.program import JobPlan

LAYOUT: Final = 2
_MARKER: Final = "millstream.json"
_OURS: Final = re.compile(r"millstream\.json(\.new)?|lock|jobs|spark\.(log(\.\d+)?|out|log4j2\.properties)")
_CLAIM_SECONDS: Final = 60.0
"""How long the JVM of a killed run may take to go."""
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class JobFolder:
    """One job's share of the checkpoint."""

    path: Path
    resumes: bool
    """Whether it has finished or begun a batch before."""
    buckets: int
    segment_cache: Path
    unfinished_batch: int | None = None
    """The batch that was begun and not finished: it is done again first, by the job as it is now."""
    is_changed: bool = False
    """Whether the job would write something else than the one that ran last."""


class Checkpoint:
    """Claims the folder: no other process runs these jobs until `release`."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._lock = self._claim()
        try:
            self._jobs = self._read_marker()
            self._segment_caches = CacheFolder()
        except BaseException:
            self._lock.close()
            raise

    @property
    def log(self) -> Path:
        return self.root / "spark.log"

    @property
    def lock(self) -> IO[str]:
        """Whoever writes here beside us holds it too: Spark's JVM outlives a killed driver by a moment."""
        return self._lock

    def as_begun(self, job: JobPlan) -> JobPlan:
        """A job that was begun on the kernel stays there, whatever operator a new one would get."""
        known = self._jobs.get(job.name)
        kernel = replace(job, roots=tuple(map(on_kernel, job.roots)))
        keeps_kernel = known is not None and known["state"] == _state_beside(known, kernel) and self._has_begun(job)
        return kernel if keeps_kernel else job

    def find_job(self, job: JobPlan) -> JobFolder | None:
        """The folder of a job that has begun a batch before; refuses one whose state was made by another query."""
        folder = self._folder(job.name)
        if job.is_shown:
            return None
        BatchLog(folder).check()
        if not self._has_begun(job):
            return None
        known = self._jobs.get(job.name)
        if known is None:
            raise JobError(
                Diagnostic(
                    Code.CHECKPOINT_MISMATCH,
                    f"{folder} holds a job's state, and {_MARKER} says nothing of it",
                    hint="Put the file back if you have a copy, or start over with --fresh.",
                )
            )
        shape = _state_beside(known, job)
        if known["state"] != shape:
            raise JobError(_changed(self.root, job, known["state"], shape))
        return JobFolder(
            folder,
            resumes=True,
            buckets=known["buckets"],
            segment_cache=self._segment_caches.path / folder.name,
            unfinished_batch=BatchLog(folder).unfinished,
            is_changed=known.get("fingerprint") != fingerprint(job),
        )

    def jobs_beside(self, names: Collection[str]) -> list[str]:
        """Jobs that have state here and other names."""
        return [
            name for name in self._jobs if name not in names and BatchLog(self._folder(name)).last_begun is not None
        ]

    def checked_jobs(self) -> list[str]:
        """All that have state here; raises what is damaged."""
        for name in self._jobs:
            BatchLog(self._folder(name)).check()
        return self.jobs_beside(())

    def keep_fingerprint(self, job: JobPlan) -> None:
        """What begins now is this job, whatever ran here before; called when nothing can refuse it any more."""
        if not job.is_shown and not _description(job).items() <= self._jobs[job.name].items():
            self._jobs[job.name] |= _description(job)
            self._write_marker()

    def new_job(self, job: JobPlan, buckets: int) -> JobFolder:
        """An empty folder for a job that starts from nothing."""
        folder = self._folder(job.name)
        shutil.rmtree(folder, ignore_errors=True)
        if job.is_shown:
            return JobFolder(folder, False, buckets, self._segment_caches.path / folder.name)
        self._jobs[job.name] = {**_description(job), "buckets": buckets}
        self._write_marker()
        return JobFolder(folder, False, buckets, self._segment_caches.path / folder.name)

    def clear(self) -> None:
        """Forgets all jobs. A folder that holds anything else is left as it is."""
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
        shutil.rmtree(self.root / "jobs", ignore_errors=True)
        (self.root / _MARKER).unlink(missing_ok=True)
        self._jobs = {}

    def release(self) -> None:
        self._segment_caches.close()
        self._lock.close()

    def _has_begun(self, job: JobPlan) -> bool:
        return BatchLog(self._folder(job.name)).last_begun is not None

    def _folder(self, job: str) -> Path:
        return self.root / "jobs" / quote(job, safe="").replace(".", "%2E")  # a table may be called `../x`

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
        while not _locked(lock):
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
            time.sleep(_LOOK_SECONDS)  # its owner was killed, and Spark's JVM is still on its way out
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        return lock

    def _read_marker(self) -> dict[str, Any]:
        marker = self.root / _MARKER
        if not marker.exists():
            return {}
        try:
            content = json.loads(marker.read_text(encoding="utf-8"))
            layout = content["layout"]
            jobs = _whole(content) if layout == LAYOUT else {}
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise JobError(
                Diagnostic(
                    Code.CHECKPOINT_MISMATCH,
                    f"checkpoint {self.root} is damaged",
                    detail=f"{_MARKER} in it cannot be read: {error}.",
                    hint="Start over with --fresh, or put back the file if you have a copy.",
                )
            ) from error
        if layout != LAYOUT:
            raise JobError(
                Diagnostic(
                    Code.CHECKPOINT_MISMATCH,
                    f"checkpoint {self.root} was written in layout {layout}; this version reads {LAYOUT}",
                    hint="Start over with --fresh, or run the version that wrote it.",
                )
            )
        return jobs

    def _write_marker(self) -> None:
        unfinished = self.root / f"{_MARKER}.new"
        content = {"layout": LAYOUT, "jobs": self._jobs, "checksum": _checksum(self._jobs)}
        unfinished.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        unfinished.replace(self.root / _MARKER)


def _description(job: JobPlan) -> dict[str, Any]:
    return {"state": state_of(job), "identity": IDENTITY, "fingerprint": fingerprint(job)}


def _state_beside(known: dict[str, Any], job: JobPlan) -> list[str]:
    """The job's state, described as in what is known of it; what does not say how was written by version 1."""
    return state_of(job, known.get("identity", 1))


def left_out_of_copies(folder: str, names: list[str]) -> list[str]:
    """What belongs to a process and not to the jobs."""
    at_the_top = (Path(folder) / _MARKER).exists()
    return [name for name in names if at_the_top and name not in (_MARKER, "jobs")]


def _whole(content: dict[str, Any]) -> dict[str, Any]:
    """The jobs of a marker; a number that changed on the disk would spread keys over other buckets."""
    jobs = dict(content["jobs"])
    if content.get("checksum", _checksum(jobs)) != _checksum(jobs):
        raise ValueError("its checksum is another one")
    for job in jobs.values():
        if not (isinstance(job["state"], list) and isinstance(job["buckets"], int)):
            raise TypeError("a job in it is not described as jobs are")
    return jobs


def _checksum(jobs: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(jobs, sort_keys=True).encode()).hexdigest()[:16]


def _locked(lock: IO[str]) -> bool:
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
    with suppress(PermissionError):  # it runs, as somebody else
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True


def _changed(root: Path, job: JobPlan, before: list[str], now: list[str]) -> Diagnostic:
    hint = (
        "Undo the change, start over with --fresh (`millstream savepoint` keeps a copy of what is there), "
        "or name another folder with --checkpoint."
    )
    if [step.removesuffix(NATIVELY) for step in before] == now:
        hint = (
            f"The job began on Spark's own operator: undo what rules it out, such as '{AGGREGATE_NATIVE.key}' = "
            f"'{NativeAggregate.NEVER}', or start over with --fresh."
        )
    return Diagnostic(
        Code.CHECKPOINT_MISMATCH,
        f'job "{job.name}" keeps another state than the one in checkpoint {root}',
        job.roots[0].span,
        detail=told_changes(before, now),
        hint=hint,
    )


def refuse_changed_replay(job: JobPlan, folder: JobFolder) -> None:
    """For sinks that may hold a part of the unfinished batch already: only the same job writes the rest of it."""
    if folder.unfinished_batch is not None and folder.is_changed:
        raise JobError(
            Diagnostic(
                Code.CHECKPOINT_MISMATCH,
                f'job "{job.name}" has changed while a batch of it is not finished',
                job.roots[0].span,
                detail=f"Batch {folder.unfinished_batch} was begun by the script as it was before, and a part of what "
                "it writes may be in the sink already.",
                hint="Run the old script once more with --drain: it finishes the batch. Then change it; "
                "or start over with --fresh.",
            )
        )
