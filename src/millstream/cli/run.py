"""`millstream run`: a script from file to finished jobs."""

from __future__ import annotations

import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.catalog.settings import check_setting
from millstream.cli.views import View, view_for
from millstream.errors import Code, Diagnostic, ScriptError

if TYPE_CHECKING:
    from millstream.runtime.job import Job

_LAST_REPORT_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class RunRequest:
    script: Path
    drain: bool
    checkpoint: Path | None
    fresh: bool
    parameters: tuple[str, ...]
    settings: tuple[str, ...]
    master: str | None
    output: str


def run_script(request: RunRequest) -> int:
    text = _read(request.script)
    parameters = dict(_pair(argument, "--param") for argument in request.parameters)
    settings = dict(_pair(argument, "--set") for argument in request.settings)
    for key, value in settings.items():
        check_setting(key, value)
    stop = StopSignal()
    with view_for(request.output) as view:
        from millstream.runtime.session import Session

        session = Session(
            checkpoint=request.checkpoint or Path(".millstream") / request.script.stem,
            fresh=request.fresh,
            master=request.master,
            on_notice=view.notice,
            on_progress=view.progress,
            settings=settings,
        )
        program = session.compile(text, str(request.script), parameters)
        if not program.inserts:
            view.notice(f"{request.script} has no INSERT statement: nothing to run")
            return 0
        try:
            jobs = session.start(program, drain=request.drain)
            stop.listen()  # Spark's start takes the handlers away
            _announce(view, jobs, drain=request.drain)
            _follow(jobs, stop, view)
        finally:
            session.stop()
    return 0


class StopSignal:
    """Set by Ctrl-C and SIGTERM."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self.listen()

    def listen(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._event.set())

    def wait(self, seconds: float) -> bool:
        return self._event.wait(seconds)

    @property
    def is_set(self) -> bool:
        return self._event.is_set()


def _announce(view: View, jobs: tuple[Job, ...], *, drain: bool) -> None:
    names = ", ".join(job.name for job in jobs)
    until = "until the topics are processed" if drain else "until Ctrl-C"
    view.notice(f"running {names} {until}")


def _follow(jobs: tuple[Job, ...], stop: StopSignal, view: View) -> None:
    """Until all jobs have ended or the user wants them to; a failure of one ends all."""
    while not stop.wait(_LOOK_SECONDS):
        for job in jobs:
            job.raise_failure()
        if not any(job.is_running for job in jobs):
            break
    if stop.is_set:
        view.notice("stopping after the batch under way")
    for job in jobs:
        if job.is_running:
            job.stop()
    for job in jobs:
        job.raise_failure()
        job.await_last_report(_LAST_REPORT_SECONDS)


def _read(script: Path) -> str:
    try:
        return script.read_text(encoding="utf-8")
    except FileNotFoundError:
        why, hint = "no such file", "Check the path; it is taken relative to the current folder."
    except IsADirectoryError:
        why, hint = "it is a folder", "Name the script itself."
    except UnicodeDecodeError:
        why, hint = "it is not UTF-8 text", "Save the script as UTF-8."
    except OSError as error:
        why, hint = error.strerror or str(error), None
    raise ScriptError(Diagnostic(Code.UNREADABLE_SCRIPT, f"script {script} cannot be read: {why}", hint=hint))


def _pair(argument: str, option: str) -> tuple[str, str]:
    key, equals, value = argument.partition("=")
    if not equals or not key.strip():
        raise ScriptError(
            Diagnostic(
                Code.BAD_ARGUMENT,
                f'{option} "{argument}" is not of the form KEY=VALUE',
                hint=f"Write {option} name=value.",
            )
        )
    return key.strip(), value
