"""Paths of tables that are stored in files, and their problems on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from millstream.catalog.options import ConfigOption, text
from millstream.errors import Code, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from millstream.connectors.local.tables import FilesystemSink, FilesystemSource

PATH: Final = ConfigOption("path", text, "The folder, or the one file, e.g. 'data/orders'.", legacy=("connector.path",))
_LOCAL_SCHEMES: Final = ("", "file")


def local_path(path: str) -> Path | None:
    """The path on this machine, relative to the current folder; None for another file system."""
    parts = urlsplit(path)
    if parts.scheme not in _LOCAL_SCHEMES:
        return None
    return Path(unquote(parts.path) if parts.scheme else path).absolute()


def find_unreadable_path(source: FilesystemSource) -> Iterator[Diagnostic]:
    """Does not check other file systems."""
    path = local_path(source.path)
    if path is not None and not path.exists():
        yield Diagnostic(
            Code.INVALID_OPTION_VALUE,
            f'table "{source.table.name}" cannot be read: there is no {path}',
            source.places.value(PATH.key),
            hint="A path is taken relative to the current folder.",
        )


def find_unwritable_path(sink: FilesystemSink) -> Iterator[Diagnostic]:
    path = local_path(sink.path)
    if path is not None and path.exists() and not path.is_dir():
        yield Diagnostic(
            Code.INVALID_OPTION_VALUE,
            f'table "{sink.table.name}" cannot be written: {path} is a file',
            sink.places.value(PATH.key),
            hint="Name a folder; each batch adds files to it.",
        )
