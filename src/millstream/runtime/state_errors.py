"""Errors about the state of a job, found on the driver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from millstream.durable_files import damage_error

if TYPE_CHECKING:
    from millstream.errors import JobError
    from millstream.state.storage import StateFileError


def damaged_state_error(error: StateFileError) -> JobError:
    return damage_error(Path(error.file), error.why)


def missing_folder_error(folder: Path) -> JobError:
    return damage_error(folder, "It is missing, and held the state of an operator.")
