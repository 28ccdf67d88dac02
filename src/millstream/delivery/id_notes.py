"""Records the transactional ids that a job has used in its checkpoint, so that the next start can fence them.

An id is the name of an empty file; if it is too long for a file name, it is the content of its file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from millstream.durable_files import is_unfinished, make_folder, read_json, shorten_name, sync_folder, write_json

if TYPE_CHECKING:
    from pathlib import Path

IDS: Final = "transactions"
"""The name of the folder, inside the job's folder."""


def note_id(folder: Path, transactional_id: str) -> None:
    """The file is on disk when this returns."""
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
    """A fenced id has nothing open. Whoever uses it again records it again, and a zombie finds the claim taken."""
    for transactional_id in fenced:
        (folder / shorten_name(quote(transactional_id, safe=""))).unlink(missing_ok=True)
