"""Where a checkpoint's jobs have local copies of their state, on the temporary disk while they run."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO, Final

_PREFIX: Final = "millstream-segments-"
_LOCK: Final = "lock"


class CacheFolder:
    """Ours until `close`, which removes it. What runs that were killed left behind is removed on the way."""

    def __init__(self, identity: str) -> None:
        place = Path(tempfile.gettempdir())
        self.path = place / f"{_PREFIX}{identity}"
        self._lock = self._claim()
        for other in place.glob(f"{_PREFIX}*"):
            if other != self.path:
                _remove_abandoned(other)

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()

    def _claim(self) -> IO[str]:
        while True:
            self.path.mkdir(mode=0o700, exist_ok=True)
            try:
                lock = (self.path / _LOCK).open("a")
            except FileNotFoundError:  # somebody removes it as abandoned at this moment
                continue
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _is_in_place(lock, self.path / _LOCK):
                return lock
            lock.close()


def _remove_abandoned(folder: Path) -> None:
    try:
        with (folder / _LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # in use, not ours, or gone already
        return


def _is_in_place(lock: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False
