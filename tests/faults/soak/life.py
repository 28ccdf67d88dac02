"""One run of the jobs: a process with all that it starts, any part of which can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from millstream.failpoints import VARIABLE
from tests.faults.processes import jvm_of, processes, run_command
from tests.faults.soak.kills import Victim

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.faults.processes import Process
    from tests.faults.soak.kills import Kill

_LOOK_SECONDS: Final = 0.5
_MARKS: Final = {Victim.WORKER: "-m millstream.spark.worker_daemon", Victim.DELIVERY: "-m millstream.delivery.process"}
_GAVE_UP: Final = "running on without it"


class Life:
    def __init__(self, script: Path, brokers: str, log: Path, *, armed: str | None = None, drain: bool = False) -> None:
        self._log = log
        self._jvm: int | None = None
        self._batches: dict[str, int] = {}
        self._is_under_way = threading.Event()
        with log.open("w") as notices:
            self._driver = subprocess.Popen(
                run_command(script, {"brokers": brokers}, *(["--drain"] if drain else [])),
                cwd=script.parent,
                env={**os.environ, **({VARIABLE: armed} if armed else {})},
                stdout=subprocess.PIPE,
                stderr=notices,
                text=True,
                start_new_session=True,  # Ctrl-C is meant for the soak test, which ends it
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def exit_code(self) -> int | None:
        return self._driver.poll()

    @property
    def batches(self) -> str:
        return ", ".join(f"{job} {batch}" for job, batch in sorted(self._batches.items())) or "none"

    @property
    def complaint(self) -> str:
        lines = self._log.read_text().strip().splitlines()
        return next((line for line in lines if line.startswith("error")), lines[-1] if lines else "nothing said")

    @property
    def gave_up_a_job(self) -> bool:
        return _GAVE_UP in self._log.read_text()

    def ends_before_a_batch(self, seconds: float) -> bool:
        """Waits for the first batch."""
        deadline = time.monotonic() + seconds
        while not self._is_under_way.wait(_LOOK_SECONDS) and self.exit_code is None and time.monotonic() < deadline:
            self._members()
        self._members()
        return not self._is_under_way.is_set()

    def ends_within(self, seconds: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._driver.wait(max(seconds, 0))
        return self.exit_code is not None

    def kill(self, kill: Kill) -> Victim:
        """Returns what was killed: the whole job if there is no such process yet."""
        members = self._members()
        driver = [self._driver.pid]
        match kill.victim:
            case Victim.DRIVER:
                chosen = driver
            case Victim.JVM:
                chosen = [each.pid for each in members if each.pid == self._jvm]
            case Victim.WORKER | Victim.DELIVERY:
                alike = [each.pid for each in members if _MARKS[kill.victim] in each.command]
                chosen = alike[int(kill.lot * len(alike)) :][:1]
            case _:
                chosen = []
        _end(chosen or [*driver, *(each.pid for each in members)])
        return kill.victim if chosen else Victim.JOB

    def end(self) -> None:
        """Lets the batch finish if possible."""
        self._driver.send_signal(signal.SIGTERM)
        if not self.ends_within(60):
            _end([self._driver.pid, *(each.pid for each in self._members())])
            self._driver.wait()

    def sweep(self) -> int:
        """Removes what a previous life has left behind."""
        left = [each.pid for each in self._members()]
        _end(left)
        return len(left)

    def _members(self) -> list[Process]:
        """The JVM and everything that it started; remembered, since the driver may be gone."""
        running = processes()
        if self._jvm is None:
            self._jvm = jvm_of(self._driver.pid, running)
        return [each for each in running if self._jvm is not None and each.session == self._jvm]

    def _read(self) -> None:
        assert self._driver.stdout is not None
        for line in self._driver.stdout:
            with suppress(json.JSONDecodeError):  # a line that a kill has truncated
                event = json.loads(line)
                if "batch" in event:
                    self._batches[event["job"]] = event["batch"]
                    self._is_under_way.set()


def _end(processes: Iterable[int]) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
