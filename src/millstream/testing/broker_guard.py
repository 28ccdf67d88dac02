"""Runs a command, and makes sure that it ends when the process that started the guard does.

Used as a script: broker_guard.py TEMPORARY COMMAND..., where TEMPORARY is empty or the command's data folder, which is
removed if the owner cannot do so any more. The guard's standard input is a pipe from its owner. At the end of that
input, on a signal to stop, or when the owner is gone, the command is terminated, and killed if it does not end. With
temporary data it is killed at once: a broker takes 20 s to close a thousand logs that nobody will open again.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_SECONDS_TO_END = 20
_SECONDS_BETWEEN_LOOKS = 1
_PR_SET_PDEATHSIG = 1
_OWNER = os.getppid()


def main(temporary: str, command: list[str]) -> int:
    # Files are inherited on purpose: the lock on the data folder is held as long as the command lives.
    guarded = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        close_fds=False,
        preexec_fn=_end_with_the_guard,  # noqa: PLW1509, there is only one thread yet
    )

    def ask_to_end(_signal: int, _frame: FrameType | None) -> None:
        if temporary:
            guarded.kill()
        else:
            guarded.terminate()
            signal.alarm(_SECONDS_TO_END)

    signal.signal(signal.SIGALRM, lambda _signal, _frame: guarded.kill())
    for stop in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(stop, ask_to_end)
    threading.Thread(target=_watch_owner, daemon=True).start()
    code = guarded.wait()
    if temporary and not _has_owner():
        shutil.rmtree(temporary, ignore_errors=True)
    return abs(code)


def _watch_owner() -> None:
    """The pipe may outlive the owner in a process forked from it, so the owner itself is checked too."""
    while _has_owner():
        readable, _, _ = select.select([sys.stdin], [], [], _SECONDS_BETWEEN_LOOKS)
        if readable:
            break
    os.kill(os.getpid(), signal.SIGTERM)


def _has_owner() -> bool:
    return os.getppid() == _OWNER


def _end_with_the_guard() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
