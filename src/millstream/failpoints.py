"""Named places at which tests end a job, in one of three ways. No effect unless MILLSTREAM_FAILPOINT names one.

`MILLSTREAM_FAILPOINT=after-commit:2` kills when a process reaches it for the second time: itself, Spark's JVM with all
its workers, and the process that started them, all at once. `after-commit:2:raise` raises an exception there;
`after-commit:2:cancel` sends two Ctrl-C to the job, which cancel the running batch, and waits for that.
`after-commit:2:hold=FILE` waits while FILE exists, and creates FILE.reached to signal that.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE: Final = "MILLSTREAM_FAILPOINT"
FAILPOINTS: Final = {
    "before-read": "the batch is in the checkpoint, a task is about to read its part",
    "after-read": "a task has decoded messages",
    "before-state": "a kernel has its rows and has not touched its state",
    "before-manifest": "a kernel has written the pieces of its state, and not the manifest that names them",
    "after-state": "a kernel has written its state, the batch has not ended",
    "before-delivery": "a task has encoded messages, and none is on its way",
    "before-init": "a producer is about to fence its predecessors",
    "after-begin": "a transaction has begun",
    "mid-produce": "some messages of a task are with the broker",
    "before-offsets": "all messages of a transaction are, the progress is not",
    "after-offsets": "messages and progress are in the transaction",
    "after-commit": "the transaction is committed, the task has not ended",
    "after-task": "a task has ended, all of its messages are with the broker",
    "after-batch": "Spark has ended the batch",
}
_LOOK_SECONDS: Final = 0.02
_BETWEEN_SIGNALS_SECONDS: Final = 0.3
_CANCEL_SECONDS: Final = 20.0
_seen: Counter[str] = Counter()


class FailpointError(Exception):
    """Represents whatever may go wrong at a place."""

    def __init__(self, name: str) -> None:
        super().__init__(f"failpoint {name}")


def reach(name: str, first: Callable[[], object] | None = None) -> None:
    """Costs one look at the environment. An armed failpoint first calls `first`, to bring about what its name says."""
    armed = os.environ.get(VARIABLE)
    if armed is None:
        return
    wanted, _, rest = armed.partition(":")
    count, _, way = rest.partition(":")
    if wanted != name:
        return
    _seen[name] += 1
    if _seen[name] != int(count or 1):
        return
    if first is not None:
        first()
    way, _, file = way.partition("=")
    match way:
        case "":
            _end_the_job()
        case "raise":
            raise FailpointError(name)
        case "cancel":
            _cancel_the_job()
        case "hold":
            _wait_while_exists(Path(file))
        case _:
            raise ValueError(f"a failpoint cannot {way}")


def _wait_while_exists(file: Path) -> None:
    file.with_name(f"{file.name}.reached").touch()
    while file.exists():
        time.sleep(_LOOK_SECONDS)


def is_armed(name: str) -> bool:
    """For preparations that are necessary to reach a place."""
    return os.environ.get(VARIABLE, "").partition(":")[0] == name


def _end_the_job() -> None:
    driver, others = _processes_of_the_job()
    me = os.getpid()
    for process in (*(each for each in (driver, *others) if each != me), me):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal.SIGKILL)


def _cancel_the_job() -> None:
    """A worker is killed meanwhile; a delivery process continues with what it has received."""
    driver, _ = _processes_of_the_job()
    for _ in range(2):
        os.kill(driver, signal.SIGINT)
        time.sleep(_BETWEEN_SIGNALS_SECONDS)
    deadline = time.monotonic() + _CANCEL_SECONDS
    while driver in _processes() and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def _processes_of_the_job() -> tuple[int, list[int]]:
    """The driver, and all others except this one.

    Spark's JVM leads a process session of its own, which contains its workers and ours; its parent started the job.
    """
    here, me = os.getsid(0), os.getpid()
    processes = _processes()
    started = [process for process, (parent, session) in processes.items() if parent == me and session == process]
    members = [process for process, (_, session) in processes.items() if session in (started or [here])]
    driver = me if started else processes[here][0]
    return driver, [process for process in members if process not in (driver, me)]


def _processes() -> dict[int, tuple[int, int]]:
    """The parent and the session of each process."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,sess="], capture_output=True, text=True, check=True).stdout
    rows = (map(int, line.split()) for line in listed.splitlines())
    return {process: (parent, session) for process, parent, session in rows}
