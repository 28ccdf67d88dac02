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
from typing import IO, TYPE_CHECKING, Any, Final, TypeGuard
from urllib.parse import quote

from millstream.catalog.settings import AGGREGATE_NATIVE, NativeAggregate
from millstream.errors import Code, Diagnostic, JobError
from millstream.kernels.cache_folder import CacheFolder
from millstream.plan.changelog import keeps_more_for_changes
from millstream.plan.nodes import Aggregate, Expand, Materialise, Normalise, Operator, Project, Scan, Values
from millstream.plan.rules.choose_operators import on_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from millstream.plan.nodes import Node
    from millstream.plan.program import JobPlan

LAYOUT: Final = 2
_MARKER: Final = "millstream.json"
_OURS: Final = re.compile(r"millstream\.json(\.new)?|lock|jobs|spark\.(log(\.\d+)?|out|log4j2\.properties)")
_CLAIM_SECONDS: Final = 60.0
"""How long the JVM of a killed run may take to go."""
_NATIVELY: Final = " natively"
"""Marks state that Spark's own operator keeps, which the kernel cannot read, nor the other way round."""
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class JobFolder:
    """One job's share of the checkpoint."""

    path: Path
    resumes: bool
    """Whether it has finished or begun a batch before."""
    buckets: int
    segment_cache: Path


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
        keeps_kernel = known is not None and known["state"] == _state(kernel) and self._has_begun(job)
        return kernel if keeps_kernel else job

    def find_job(self, job: JobPlan) -> JobFolder | None:
        """The folder of a job that has begun a batch before; refuses one whose state was made by another query."""
        folder = self._folder(job)
        if job.is_shown or not self._has_begun(job):
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
        shape = _state(job)
        if known["state"] != shape:
            raise JobError(_changed(self.root, job, known["state"], shape))
        return JobFolder(folder, True, known["buckets"], self._segment_caches.path / folder.name)

    def new_job(self, job: JobPlan, buckets: int) -> JobFolder:
        """An empty folder for a job that starts from nothing."""
        folder = self._folder(job)
        shutil.rmtree(folder, ignore_errors=True)
        if job.is_shown:
            return JobFolder(folder, False, buckets, self._segment_caches.path / folder.name)
        self._jobs[job.name] = {"state": _state(job), "buckets": buckets}
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
        offsets = self._folder(job) / "offsets"
        return offsets.is_dir() and any(entry.name.isdigit() for entry in offsets.iterdir())

    def _folder(self, job: JobPlan) -> Path:
        name = quote(job.name, safe="").replace(".", "%2E")  # a table may be called `../x`
        return self.root / "jobs" / name

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
            content = json.loads(marker.read_text())
            layout, jobs = content["layout"], dict(content["jobs"])
        except (ValueError, TypeError, KeyError) as error:
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
        unfinished.write_text(json.dumps({"layout": LAYOUT, "jobs": self._jobs}, indent=2) + "\n")
        unfinished.replace(self.root / _MARKER)


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


def _state(job: JobPlan) -> list[str]:
    return [step for root in job.roots for step in state_shape(root)]


def state_shape(node: Node) -> Iterator[str]:
    """What the checkpoint depends on: what is read, and what is kept by which key."""
    match node:
        case Scan():
            yield f"read {node.source.reads}"
        case Values():
            rows = "; ".join(", ".join(value.sql() for value in row) for row in node.rows)
            yield f"values {hashlib.sha256(rows.encode()).hexdigest()[:16]}"
        case Aggregate():
            expanded = node.input if isinstance(node.input, Expand) else None
            inputs = node.input if expanded is None else expanded.input
            assert isinstance(inputs, Project)
            below = {item.name: f"{item.expression.sql()} {item.type}" for item in inputs.items}
            keys = ", ".join(below[key] for key in node.keys if key in below)
            calls = ", ".join(
                f"{call.function} {'DISTINCT ' if call.distinct else ''}{below.get(call.argument or '', '')}".strip()
                for call in node.calls
            )
            of_changes = " of rows that may go" if keeps_more_for_changes(node) else ""
            native = _NATIVELY if node.operator is Operator.NATIVE else ""
            yield f"group by [{keys}] compute [{calls}]{of_changes}{native}"
            if expanded is not None:
                yield f"in sets {', '.join(str([below[key] for key in kept]) for kept in expanded.sets)}"
            yield from state_shape(inputs)
        case Normalise() | Materialise():
            columns = ", ".join(f"{column.name} {column.type}" for column in node.columns)
            replaced = f", the last by [{', '.join(node.upsert_key)}]" if _replaces(node) else ""
            yield f"keep rows [{columns}] by [{', '.join(node.keys)}]{replaced}"
            yield from state_shape(node.input)
        case _:
            yield from state_shape(node.input)


def _replaces(node: Normalise | Materialise) -> TypeGuard[Materialise]:
    return isinstance(node, Materialise) and bool(node.upsert_key)


def _changed(root: Path, job: JobPlan, before: list[str], now: list[str]) -> Diagnostic:
    hint = "Start over with --fresh, or keep the old state and name another folder with --checkpoint."
    if [step.removesuffix(_NATIVELY) for step in before] == now:
        hint = (
            f"The job began on Spark's own operator: undo what rules it out, such as '{AGGREGATE_NATIVE.key}' = "
            f"'{NativeAggregate.NEVER}', or start over with --fresh."
        )
    return Diagnostic(
        Code.CHECKPOINT_MISMATCH,
        f'job "{job.name}" keeps another state than the one in checkpoint {root}',
        job.roots[0].span,
        detail=f"Then: {'; '.join(before)}. Now: {'; '.join(now)}.",
        hint=hint,
    )
