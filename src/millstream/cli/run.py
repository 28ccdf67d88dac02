"""`millstream run`: runs a script until its jobs have ended."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from millstream.catalog.settings import check_setting
from millstream.cli.arguments import checkpoint_of, pairs, parameters_of, read_script
from millstream.cli.numbers import count
from millstream.cli.stop_signal import StopSignal
from millstream.cli.views import JsonView, View, view_for
from millstream.errors import Code, Diagnostic, MillstreamError, ScriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from millstream.runtime.job import Job
    from millstream.runtime.progress import JobProgress

T = TypeVar("T")

_LAST_REPORT_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.1
_MASTER: Final = re.compile(r"local(\[(\d+|\*)(,\s*\d+)?\])?|local-cluster\[.+\]|yarn|(spark|k8s)://.+")


@dataclass(frozen=True, slots=True)
class RunRequest:
    script: Path
    drain: bool
    checkpoint: str | None
    fresh: bool
    parameters: tuple[str, ...]
    settings: tuple[str, ...]
    master: str | None
    output: str


def run_script(request: RunRequest) -> int:
    text = read_script(request.script)
    parameters = parameters_of(request.parameters)
    settings = pairs(request.settings, "--set")
    for key, value in settings.items():
        check_setting(key, value)
    _check_master(request.master)
    stop = StopSignal()
    with view_for(request.output) as view:
        for name in parameters:
            if f"${{{name}}}" not in text:
                view.notice(f'parameter "{name}" is not used by {request.script}')
        from millstream.runtime.session import Session

        session = Session(
            checkpoint=checkpoint_of(request.script, request.checkpoint),
            fresh=request.fresh,
            master=request.master,
            on_notice=view.notice,
            on_progress=until_reader_leaves(view.progress, stop),
            on_event=until_reader_leaves(view.event, stop),
            on_answer=view.answer,
            on_rows=until_reader_leaves(view.rows, stop),
            on_data=until_reader_leaves(view.data, stop) if isinstance(view, JsonView) else None,
        )
        program = session.compile(text, str(request.script), parameters, settings)
        if not program.steps:
            view.notice(f"{request.script} has no INSERT or SELECT statement: nothing to run")
            return 0
        try:
            follower = _Follower(stop, view)
            jobs = _run_steps(session.walk(program, drain=request.drain, is_last=True), stop, follower)
            if not stop.is_set:
                endless = tuple(job for job in jobs if not job.is_bounded)
                if endless:
                    _announce(view, endless, drain=request.drain)
                follower.follow(jobs)
            for job in jobs:
                job.show_result()
            if not stop.is_set:
                _report_totals(view, jobs if request.drain else [job for job in jobs if job.is_bounded])
        except KeyboardInterrupt:
            session.stop(finish_batches=False)
            raise
        finally:
            session.stop()
    return 0


def _run_steps(started: Iterator[Job], stop: StopSignal, follower: _Follower) -> list[Job]:
    """Executes the script's steps; waits for a job that ends by itself before the next one starts."""
    jobs: list[Job] = []
    for job in started:
        stop.listen()
        jobs.append(job)
        if job.is_bounded:
            follower.follow(jobs, until=job)
            job.show_result()
        if stop.is_set:
            break
    return jobs


def _announce(view: View, jobs: Sequence[Job], *, drain: bool) -> None:
    names = ", ".join(job.name for job in jobs)
    until = "until the topics are processed" if drain else "until Ctrl-C"
    view.notice(f"running {names} {until}")


def _report_totals(view: View, jobs: Sequence[Job]) -> None:
    for job in jobs:
        done = job.progress
        read = (
            f"{count(done.total_rows_in)} rows in, {count(done.total_rows_out)} out" if done else "nothing new to read"
        )
        view.notice(f"{job.name} is done: {read}{_late(done)}")


def _late(done: JobProgress | None) -> str:
    """`, 3 late rows dropped by window-1`."""
    if done is None or not done.late:
        return ""
    each = ", ".join(f"{count(rows)} by {operator}" for operator, rows in done.late)
    return f", {count(done.total_late_rows)} late rows dropped ({each})"


def _check_master(master: str | None) -> None:
    if master is not None and not _MASTER.fullmatch(master):
        raise ScriptError(
            Diagnostic(
                Code.BAD_ARGUMENT,
                f'--master "{master}" is not an address that Spark knows',
                hint="Write local, local[4], local[*], spark://HOST:PORT, yarn or k8s://HOST:PORT.",
            )
        )


def until_reader_leaves(show: Callable[[T], None], stop: StopSignal) -> Callable[[T], None]:
    """Progress and rows are shown by another thread, which must tell the main thread if the reader has gone."""

    def show_or_stop(shown: T) -> None:
        try:
            show(shown)
        except BrokenPipeError:
            stop.set()

    return show_or_stop


class _Follower:
    """Watches jobs until they have ended, or the user stops them.

    The failure of a job is reported at once and the others continue, since each has its own checkpoint. When they have
    ended too, its failure is raised, for the exit code. If the next statement waits for the job, its failure ends all.
    """

    def __init__(self, stop: StopSignal, view: View) -> None:
        self._stop = stop
        self._view = view
        self._reported: set[str] = set()

    def follow(self, jobs: Sequence[Job], until: Job | None = None) -> None:
        awaited = jobs if until is None else (until,)
        try:
            while not self._stop.wait(_LOOK_SECONDS):
                self._view.tick()
                for job in jobs:
                    self._check_job(job, [other.name for other in jobs if other.is_running], until)
                if not any(job.is_running for job in awaited):
                    break
            if self._stop.is_set:
                self._view.notice("stopping after the current batch; interrupt again to stop now")
                for job in jobs:
                    if job.is_running:
                        job.stop()
            for job in jobs if until is None or self._stop.is_set else awaited:
                job.raise_failure()
        finally:
            for job in jobs:
                if not job.is_running:
                    job.await_last_report(_LAST_REPORT_SECONDS)

    def _check_job(self, job: Job, running: list[str], until: Job | None) -> None:
        if job.name in self._reported:
            return
        try:
            job.raise_failure()
        except MillstreamError as failure:
            if job is until or not running:
                raise
            self._reported.add(job.name)
            self._view.notice(f"{failure}\n{', '.join(running)}: running on without it")
