"""A folder for what the jobs of one run need outside their checkpoint, such as sockets.

A run holds a lock on a file in its folder. A folder without a lock belongs to a run that is over, however it ended;
the next run removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from millstream.private_folder import is_private_folder, make_private_folder, open_lock

_PREFIX: Final = "millstream-run-"
_LOCK: Final = "lock"


class RunFolder:
    """A fresh one for each run, without anything that an earlier run left. `close` removes it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.gettempdir()) / f"{_PREFIX}{uuid.uuid4().hex[:16]}"
        self._lock = _claim(self.path)

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def _claim(folder: Path) -> IO[str]:
    for other in folder.parent.glob(f"{_PREFIX}*"):
        if other != folder and is_private_folder(other):
            _remove_abandoned(other)
    while True:
        with suppress(FileNotFoundError):  # another process is removing it as abandoned
            make_private_folder(folder)
            lock = open_lock(folder / _LOCK)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if _is_in_place(lock, folder / _LOCK):
                return lock
            lock.close()


def _remove_abandoned(folder: Path) -> None:
    with suppress(OSError), open_lock(folder / _LOCK) as lock:  # in use, or already gone
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)


def _is_in_place(lock: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False
