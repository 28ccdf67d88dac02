"""Copies the checkpoint of a stopped job, to try out a change to the script."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from millstream.durable_files import make_folder, sync_folder
from millstream.errors import Code, Diagnostic, JobError
from millstream.runtime.checkpoint import Checkpoint, ignore_in_copies

if TYPE_CHECKING:
    from pathlib import Path


def copy_checkpoint(checkpoint: Path, to: Path) -> list[str]:
    """Returns the names of the jobs in it. They cannot run meanwhile; `to` is written completely or not at all."""
    if not checkpoint.is_dir():
        raise _refuse(f"there is no checkpoint {checkpoint}", "Check the path; `run` makes .millstream/SCRIPT.")
    if to.exists():
        raise _refuse(f"{to} already exists", "Name a folder that does not exist.")
    if to.absolute().is_relative_to(checkpoint.absolute()):
        raise _refuse(f"{to} is inside the checkpoint", "Name a folder outside of it.")
    claimed = Checkpoint(checkpoint)
    unfinished = to.with_name(f"{to.name}.unfinished")
    try:
        jobs = claimed.check_jobs()
        if not jobs:
            raise _refuse(f"{checkpoint} holds no job's state", "A job keeps state from its first batch on.")
        make_folder(to.parent)
        shutil.rmtree(unfinished, ignore_errors=True)  # left by an interrupted copy, and possibly outdated
        shutil.copytree(checkpoint, unfinished, ignore=ignore_in_copies)
        _force_to_disk(unfinished)
        unfinished.rename(to)
        sync_folder(to.parent)
    except OSError as error:
        raise _refuse(f"checkpoint {checkpoint} could not be copied to {to}", f"{error.strerror}.") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        claimed.release()
    return jobs


def _force_to_disk(copy: Path) -> None:
    for entry in (*copy.rglob("*"), copy):
        if entry.is_dir():
            sync_folder(entry)
        else:
            with entry.open("rb") as file:
                os.fsync(file.fileno())


def _refuse(primary: str, hint: str) -> JobError:
    return JobError(Diagnostic(Code.CHECKPOINT_MISMATCH, primary, hint=hint))
