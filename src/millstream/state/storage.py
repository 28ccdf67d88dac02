"""Where state lies: the only module that touches its files.

Paths are relative to the job's state folder, with `/` between their parts.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from millstream.durable_files import make_folder, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


_WHY: Final[dict[type[OSError], str]] = {
    FileNotFoundError: "It is missing.",
    IsADirectoryError: "It is a folder.",
    NotADirectoryError: "A file is where a folder should be.",
    PermissionError: "The user of this process may not read it.",
}
_DAMAGE: Final = tuple(_WHY)
"""Anything else, such as a file system that does not respond, may be gone at the next attempt."""


class StateFileError(Exception):
    """A file of the state is damaged or missing."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(f"file {file} of the state is damaged: {why}")
        self.file = file
        self.why = why

    def __reduce__(self) -> tuple[type[StateFileError], tuple[str, str]]:
        return StateFileError, (self.file, self.why)


class StateStorage(Protocol):
    """Files that are written once, and a few that are replaced as a whole."""

    def names(self, folder: str) -> list[str]:
        """Of all files and folders in a folder; none where it does not exist."""
        ...

    def has(self, path: str) -> bool: ...

    def read(self, path: str) -> bytes: ...

    def map(self, path: str) -> pa.Buffer:
        """The content of a file, read as it is looked at."""
        ...

    def write(self, path: str, parts: Iterable[pa.Buffer]) -> None:
        """Writes a new file. It is on the disk only after `sync`."""
        ...

    def sync(self, folder: str, names: Sequence[str]) -> None:
        """Forces new files of a folder to the disk, with their names."""
        ...

    def replace(self, path: str, data: bytes) -> None:
        """Writes a file, or a new version of it: a crash leaves one of the two, whole."""
        ...

    def remove(self, path: str) -> None:
        """Removes a file if it exists."""
        ...

    def locate(self, path: str) -> str:
        """A file as its user knows it."""
        ...


def open_storage(folder: Path) -> StateStorage:
    """The storage of a state folder: a checkpoint lies on a file system that is mounted on every machine of the job."""
    return LocalStorage(folder)


class LocalStorage:
    def __init__(self, root: Path) -> None:
        self._root = root

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(entry.name for entry in (self._root / folder).iterdir())
        except FileNotFoundError:
            return []
        except _DAMAGE as error:
            raise self._damage(folder, error) from None

    def has(self, path: str) -> bool:
        return (self._root / path).exists()

    def read(self, path: str) -> bytes:
        try:
            return (self._root / path).read_bytes()
        except _DAMAGE as error:
            raise self._damage(path, error) from None

    def map(self, path: str) -> pa.Buffer:
        try:
            with pa.memory_map(str(self._root / path)) as file:
                return file.read_buffer()
        except _DAMAGE as error:
            raise self._damage(path, error) from None
        except OSError:
            if (self._root / path).is_dir():  # for Arrow, an error without a number
                raise self._damage(path, IsADirectoryError()) from None
            raise

    def write(self, path: str, parts: Iterable[pa.Buffer]) -> None:
        file = self._root / path
        if not file.parent.exists():
            make_folder(file.parent)
        with pa.OSFile(str(file), "wb") as stream:
            for part in parts:
                stream.write(part)

    def sync(self, folder: str, names: Sequence[str]) -> None:
        for name in names:
            _force_to_disk(self._root / folder / name)
        # The names reach the disk with the manifest, which is replaced in the same folder and syncs it.

    def replace(self, path: str, data: bytes) -> None:
        file = self._root / path
        if not file.parent.exists():
            make_folder(file.parent)
        unfinished = file.with_name(f"{file.name}.{uuid.uuid4().hex}")
        with unfinished.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(file)
        sync_folder(file.parent)

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            (self._root / path).unlink()

    def locate(self, path: str) -> str:
        return str(self._root / path)

    def _damage(self, path: str, error: OSError) -> StateFileError:
        return StateFileError(self.locate(path), next(why for type_, why in _WHY.items() if isinstance(error, type_)))


def _force_to_disk(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
