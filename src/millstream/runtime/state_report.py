"""What the jobs of a script keep in their checkpoint. Read only, and without a lock: the jobs may be running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from millstream.errors import Code, Diagnostic, JobError, ScriptError
from millstream.plan.physical.nodes import Execution
from millstream.runtime.batch_log import BatchLog
from millstream.runtime.checkpoint_marker import KERNELS, job_folder, read_jobs
from millstream.runtime.event_times import EventTime, event_times
from millstream.runtime.job_identity import find_elsewhere, label_operators
from millstream.runtime.state_errors import damaged_state_error, missing_folder_error
from millstream.state.job_state import measure_after
from millstream.state.storage import StateFileError, open_storage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from millstream.plan.program import JobPlan
    from millstream.state.job_state import TableSize

_ATTEMPTS: Final = 5
_OR_NAME_IT: Final = "If its checkpoint is elsewhere, name the folder with --checkpoint."


@dataclass(frozen=True, slots=True)
class OperatorState:
    id: str
    description: str | None
    """As EXPLAIN names it; None where the script defines it in another way now, or not at all."""
    tables: tuple[TableSize, ...]
    event_time: EventTime | None = None
    """How far it has come; None where the operator does not wait for it."""

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)

    @property
    def bytes(self) -> int:
        return sum(table.bytes for table in self.tables)

    def as_json(self) -> dict[str, Any]:
        tables = [
            {
                "table": table.table,
                "rows": table.rows,
                "bytes": table.bytes,
                "segments": table.segments,
                "pieces": table.pieces,
                "buckets": table.buckets,
                "newest_batch": table.batch,
            }
            for table in self.tables
        ]
        return {
            "operator": self.id,
            "description": self.description,
            "runs": str(Execution.KERNEL),
            "rows": self.rows,
            "bytes": self.bytes,
            "tables": tables,
            "event_time": None if self.event_time is None else self.event_time.as_json(),
        }


@dataclass(frozen=True, slots=True)
class JobState:
    job: str
    batch: int | None
    """The last finished batch, after which the sizes are; None before the first has finished."""
    buckets: int
    operators: tuple[OperatorState, ...]

    @property
    def rows(self) -> int:
        return sum(operator.rows for operator in self.operators)

    @property
    def bytes(self) -> int:
        return sum(operator.bytes for operator in self.operators)

    def as_json(self) -> dict[str, Any]:
        return {
            "job": self.job,
            "batch": self.batch,
            "buckets": self.buckets,
            "rows": self.rows,
            "bytes": self.bytes,
            "operators": [operator.as_json() for operator in self.operators],
        }


@dataclass(frozen=True, slots=True)
class StateReport:
    jobs: tuple[JobState, ...]
    left_out: tuple[str, ...]
    """Why the other jobs of the script have no state here, as notices."""

    @property
    def rows(self) -> int:
        return sum(job.rows for job in self.jobs)

    @property
    def bytes(self) -> int:
        return sum(job.bytes for job in self.jobs)

    def as_json(self) -> dict[str, Any]:
        return {"jobs": [job.as_json() for job in self.jobs], "rows": self.rows, "bytes": self.bytes}


def report_state(root: Path, jobs: Sequence[JobPlan]) -> StateReport:
    """Raises if none of the jobs has state in the checkpoint, with the reasons, or if a file is damaged."""
    keeping = [job for job in jobs if _keeps_state(job)]
    if not keeping:
        raise ScriptError(
            Diagnostic(
                Code.BAD_ARGUMENT,
                "no job of the script keeps state in a checkpoint",
                detail="Aggregates, joins, upsert sources and some upsert sinks do; a SELECT forgets it at its end.",
                hint="`millstream explain` shows the operators of each job.",
            )
        )
    known = read_jobs(root)
    if not known:
        raise _refuse(f"there is no checkpoint {root}", None, f"Run the script first. {_OR_NAME_IT}")
    begun = [job for job in keeping if job.name in known and _log(root, job).last_begun is not None]
    if not begun:
        names = ", ".join(f'"{job.name}"' for job in keeping)
        raise _refuse(
            f"checkpoint {root} has no state of job {names}",
            f"The jobs in it are: {', '.join(known)}.",
            f"A job has state from its first batch on. {_OR_NAME_IT}",
        )
    states = tuple(_state_of(root, job, known[job.name]) for job in begun)
    return StateReport(states, tuple(_left_out(jobs, keeping, begun)))


def _keeps_state(job: JobPlan) -> bool:
    return not job.is_shown and job.physical.has_kernels


def _left_out(jobs: Sequence[JobPlan], keeping: Sequence[JobPlan], begun: Sequence[JobPlan]) -> list[str]:
    stateless = [f'job "{job.name}" keeps no state' for job in jobs if job not in keeping]
    return stateless + [f'job "{job.name}" has not begun a batch yet' for job in keeping if job not in begun]


def _state_of(root: Path, job: JobPlan, known: Mapping[str, Any]) -> JobState:
    if (elsewhere := find_elsewhere(known, job)) is not None:
        raise JobError(
            Diagnostic(
                Code.CHECKPOINT_MISMATCH,
                f'the state of job "{job.name}" in checkpoint {root} was written by an earlier version',
                detail=elsewhere,
                hint="Run the version that wrote it.",
            )
        )
    labels = label_operators(known, job)
    folder = job_folder(root, job.name)
    for operator in labels:
        if not (folder / KERNELS / operator).is_dir():
            raise missing_folder_error(folder / KERNELS / operator)
    batch, sizes = _measure(folder)
    times = {time.operator: time for time in _event_times(job, folder, batch)}
    discreet = job.roots[0].span.source.discreet
    return JobState(
        job.name,
        batch,
        known["buckets"],
        tuple(
            OperatorState(
                operator,
                None if label is None else discreet(label),
                tuple(size for size in sizes if size.operator == operator),
                None if label is None else times.get(operator),
            )
            for operator, label in labels.items()
        ),
    )


def _measure(folder: Path, attempts: int = _ATTEMPTS) -> tuple[int | None, list[TableSize]]:
    """After the last finished batch. Measured again if a running job has meanwhile removed what that batch left."""
    log = BatchLog(folder)
    batch = log.last_finished
    if batch is None:
        return None, []
    try:
        return batch, measure_after(open_storage(folder / KERNELS), batch)
    except StateFileError as error:
        if attempts == 1 or log.last_finished == batch:
            raise damaged_state_error(error) from None
    return _measure(folder, attempts - 1)


def _event_times(job: JobPlan, folder: Path, batch: int | None) -> tuple[EventTime, ...]:
    """None of them if a running job has meanwhile removed what that batch left, or the script has changed."""
    if batch is None or not job.physical.needs_time:
        return ()
    try:
        return event_times(job, open_storage(folder / KERNELS), batch)
    except StateFileError:
        return ()


def _log(root: Path, job: JobPlan) -> BatchLog:
    return BatchLog(job_folder(root, job.name))


def _refuse(primary: str, detail: str | None, hint: str) -> JobError:
    return JobError(Diagnostic(Code.CHECKPOINT_MISMATCH, primary, detail=detail, hint=hint))
