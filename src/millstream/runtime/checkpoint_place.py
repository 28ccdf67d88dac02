"""Where a checkpoint may be: on a file system that is mounted on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from millstream.errors import Code, Diagnostic, ScriptError

_URI: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?://(?P<host>[^/]*))?(?P<path>.*)", re.DOTALL)
_THIS_MACHINE: Final = (None, "", "localhost")


def checkpoint_folder(location: str | Path) -> Path:
    """The folder that a user names: a path, or a URI such as `file:///var/lib/jobs`.

    >>> checkpoint_folder("file:///var/lib/my%20jobs#1").as_posix()
    '/var/lib/my jobs#1'
    """
    text = str(location)  # a Path has already collapsed two slashes into one
    uri = _URI.fullmatch(text)
    if uri is None:
        return Path(location)
    scheme = uri["scheme"].lower()
    if scheme == "file" and uri["host"] in _THIS_MACHINE and uri["path"].startswith("/"):
        return Path(unquote(uri["path"]))
    here = Path(location).absolute()
    if uri["host"] is None and not uri["path"].startswith("/"):
        primary = f'checkpoint "{text}" has no / after "{uri["scheme"]}:"'
        detail = "It could be a URI or a local folder."
        hint = f"For the local folder, write {here}."
    else:
        primary = f'checkpoint "{text}" is not on a file system of this machine'
        detail = f"Millstream and Spark keep it together, and Millstream does not write to {scheme} yet."
        hint = "Name a folder on a local disk, or on a file system that is mounted on every machine of the job."
    if here.exists():
        detail = f"An earlier version took it for the local folder {here}; use that path to continue from there."
    raise ScriptError(Diagnostic(Code.BAD_ARGUMENT, primary, detail=detail, hint=hint))
