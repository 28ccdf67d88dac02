"""Detects that the checkpoint's disk is full: Spark may wait forever after a kernel failed to write its state."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING, Final

from millstream.spark.job_errors import job_error

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.errors import MillstreamError

_NO_ROOM_BYTES: Final = 16 << 10


class DiskWatch:
    def __init__(self, job: str, folder: Path) -> None:
        self._job = job
        self._folder = folder
        self._was_full = False

    def ask(self) -> MillstreamError | None:
        """The error to fail with if the disk is full, and was already full at the previous check."""
        before, self._was_full = self._was_full, shutil.disk_usage(self._folder).free < _NO_ROOM_BYTES
        if not (before and self._was_full):
            return None
        return job_error(self._job, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._folder)))
