"""Where a script's jobs keep what they need to go on after a stop or a crash.

<root>/millstream.json     which jobs live here and what their state is made of
<root>/lock                held while a process runs these jobs
<root>/jobs/<name>/        Spark's checkpoint of one INSERT
<root>/spark.log           what Spark had to say
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import quote

from millstream.errors import Code, Diagnostic, JobError
from millstream.plan.nodes import Aggregate, Scan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.plan.nodes import Node
    from millstream.plan.program import InsertPlan

LAYOUT: Final = 1
_MARKER: Final = "millstream.json"


@dataclass(frozen=True, slots=True)
class JobFolder:
    """One job's share of the checkpoint."""

    path: Path
    resumes: bool
    """Whether it has finished or begun a batch before."""
    buckets: int
    segment_cache: Path


class Checkpoint:
    def __init__(self, root: Path, *, fresh: bool = False) -> None:
        self.root = root.absolute()
        identity = hashlib.sha256(str(self.root).encode()).hexdigest()[:16]
        self._segment_caches = Path(tempfile.gettempdir()) / f"millstream-segments-{identity}"
        self._lock = self._claim()
        try:
            if fresh:
                self._clear()
            self._jobs = self._read_marker()
        except BaseException:
            self._lock.close()
            raise

    @property
    def log(self) -> Path:
        return self.root / "spark.log"

    def open_job(self, insert: InsertPlan, buckets: int) -> JobFolder:
        """The folder of a job; refuses one whose state was made by another query."""
        shape = list(_state_shape(insert.plan))
        known = self._jobs.get(insert.name)
        if known is not None and known["state"] != shape:
            raise JobError(_changed(self.root, insert, known["state"], shape))
        if known is None:
            known = {"state": shape, "buckets": buckets}
            self._jobs[insert.name] = known
            self._write_marker()
        folder_name = quote(insert.name, safe="").replace(".", "%2E")  # a table may be called `../x`
        folder = self.root / "jobs" / folder_name
        offsets = folder / "offsets"
        resumes = offsets.is_dir() and any(entry.name.isdigit() for entry in offsets.iterdir())
        return JobFolder(folder, resumes, known["buckets"], self._segment_caches / folder_name)

    def release(self) -> None:
        shutil.rmtree(self._segment_caches, ignore_errors=True)
        self._lock.close()

    def _claim(self) -> IO[str]:
        self.root.mkdir(parents=True, exist_ok=True)
        lock = (self.root / "lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise JobError(
                Diagnostic(
                    Code.CHECKPOINT_IN_USE,
                    f"checkpoint {self.root} is in use by another process",
                    hint="Stop the other job, or give this one a folder of its own with --checkpoint.",
                )
            ) from None
        return lock

    def _clear(self) -> None:
        known = (_MARKER, "lock", "jobs", "spark.")
        strangers = [entry.name for entry in self.root.iterdir() if not entry.name.startswith(known)]
        if strangers:
            raise JobError(
                Diagnostic(
                    Code.CHECKPOINT_MISMATCH,
                    f"{self.root} holds files that are not a checkpoint's, so it is not cleared",
                    detail=f"Among them: {', '.join(sorted(strangers)[:5])}.",
                    hint="Name another folder with --checkpoint.",
                )
            )
        for entry in self.root.iterdir():
            if entry.name == "lock":
                continue
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def _read_marker(self) -> dict[str, Any]:
        marker = self.root / _MARKER
        if not marker.exists():
            return {}
        try:
            content = json.loads(marker.read_text())
        except ValueError as error:
            raise JobError(
                Diagnostic(
                    Code.CHECKPOINT_MISMATCH,
                    f"{marker} cannot be read",
                    detail=f"{error}.",
                    hint="Start over with --fresh, or put back the file if you have a copy.",
                )
            ) from error
        if content["layout"] != LAYOUT:
            raise JobError(
                Diagnostic(
                    Code.CHECKPOINT_MISMATCH,
                    f"checkpoint {self.root} was written in layout {content['layout']}; this version reads {LAYOUT}",
                    hint="Start over with --fresh, or run the version that wrote it.",
                )
            )
        jobs: dict[str, Any] = content["jobs"]
        return jobs

    def _write_marker(self) -> None:
        unfinished = self.root / f"{_MARKER}.new"
        unfinished.write_text(json.dumps({"layout": LAYOUT, "jobs": self._jobs}, indent=2) + "\n")
        unfinished.replace(self.root / _MARKER)


def _state_shape(node: Node) -> Iterator[str]:
    """What the checkpoint depends on: which topics are read, and what is kept per key."""
    if isinstance(node, Scan):
        yield f"read {', '.join(node.source.topics)}"
        return
    if isinstance(node, Aggregate):
        yield f"group by [{', '.join(node.keys)}] compute [{', '.join(map(str, node.calls))}]"
    yield from _state_shape(node.input)


def _changed(root: Path, insert: InsertPlan, before: list[str], now: list[str]) -> Diagnostic:
    return Diagnostic(
        Code.CHECKPOINT_MISMATCH,
        f'job "{insert.name}" keeps another state than the one in checkpoint {root}',
        insert.plan.span,
        detail=f"Then: {'; '.join(before)}. Now: {'; '.join(now)}.",
        hint="Start over with --fresh, or keep the old state and name another folder with --checkpoint.",
    )
