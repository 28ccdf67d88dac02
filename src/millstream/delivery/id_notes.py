"""The transactional ids that a job has used, noted in its checkpoint for the next start to fence them.

An id is the name of an empty file; one that is too long for a name is the content of its file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from millstream.durable_files import is_unfinished, make_folder, read_json, shorten_name, sync_folder, write_json

if TYPE_CHECKING:
    from pathlib import Path

IDS: Final = "transactions"
"""The folder, in that of the job."""


def note_id(folder: Path, transactional_id: str) -> None:
    """On the disk when it returns."""
    quoted = quote(transactional_id, safe="")
    file = folder / shorten_name(quoted)
    if file.exists():
        return
    if file.name != quoted:
        write_json(file, transactional_id)
        return
    make_folder(folder)
    with file.open("a") as note:
        os.fsync(note.fileno())
    sync_folder(folder)


def read_ids(folder: Path) -> set[str]:
    if not folder.is_dir():
        return set()
    shortened = {file for file in folder.iterdir() if "@" in file.name}
    ids = {unquote(file.name) for file in folder.iterdir() if file not in shortened}
    return ids | {found for file in shortened if not is_unfinished(file) and (found := read_json(file, str))}


def forget_ids(folder: Path, fenced: set[str]) -> None:
    """A fenced id has nothing open; who uses it again notes it again first, and a zombie finds the claim taken."""
    for transactional_id in fenced:
        (folder / shorten_name(quote(transactional_id, safe=""))).unlink(missing_ok=True)
