"""`millstream savepoint`: a checkpoint, copied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.runtime.savepoint import copy_checkpoint

if TYPE_CHECKING:
    from pathlib import Path


def make_savepoint(checkpoint: Path, to: Path) -> int:
    jobs = copy_checkpoint(checkpoint, to)
    print(f"copied {', '.join(jobs)} to {to}; run a script on it with --checkpoint {to}")
    return 0
