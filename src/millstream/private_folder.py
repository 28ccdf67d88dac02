"""Temporary folders that no other user of the machine can enter or write to.

The system's temporary folder is shared. A name in it that is free now may belong to somebody else later, so a folder is
checked whenever it is about to be used, and a lock is only opened if it is a regular file.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_LOCK_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class NotPrivateError(PermissionError):
    """Another user has created something at the path of one of our folders or locks."""


def make_private_folder(folder: Path) -> None:
    """Creates the folder if it is missing; an existing one must belong to this user alone."""
    if not folder.parent.exists():
        make_private_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    if problem := _problem(folder):
        raise NotPrivateError(f'temporary folder "{folder}" is not private: {problem}')


def is_private_folder(folder: Path) -> bool:
    try:
        return _problem(folder) is None
    except OSError:
        return False


def open_lock(file: Path) -> IO[str]:
    """A file to lock; never blocks, as opening another user's named pipe would."""
    try:
        descriptor = os.open(file, _LOCK_FLAGS, 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise NotPrivateError(f'lock "{file}" is not private: it is a symbolic link') from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(descriptor)
        raise NotPrivateError(f'lock "{file}" is not private: it is not a file of this user')
    return os.fdopen(descriptor, "a")


def _problem(folder: Path) -> str | None:
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder"
    if found.st_uid != os.geteuid():
        return f"it belongs to another user (uid {found.st_uid})"
    if found.st_mode & _OTHERS:
        return f"other users have access to it (mode {stat.S_IMODE(found.st_mode):04o})"
    return None
