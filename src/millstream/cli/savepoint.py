"""`millstream savepoint`: copies a checkpoint."""

from __future__ import annotations

from millstream.runtime.checkpoint_place import checkpoint_folder
from millstream.runtime.savepoint import copy_checkpoint


def make_savepoint(checkpoint: str, to: str) -> int:
    jobs = copy_checkpoint(checkpoint_folder(checkpoint), checkpoint_folder(to))
    print(f"copied {', '.join(jobs)} to {to}; run a script on it with --checkpoint {to}")
    return 0
