"""Where a checkpoint may lie: on a file system that this machine has mounted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from millstream.errors import Code, Diagnostic, ScriptError

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_THIS_MACHINE: Final = ("", "localhost")


def checkpoint_folder(given: str | Path) -> Path:
    """The folder that a user names: a path, or a URI such as `file:///var/lib/jobs`.

    >>> checkpoint_folder("file:///var/lib/my%20jobs").as_posix()
    '/var/lib/my jobs'
    """
    text = str(given)  # a Path has made one slash of two
    found = _URI.match(text)
    if found is None:
        return Path(given)
    parts = urlsplit(text)
    if parts.scheme == "file" and parts.netloc in _THIS_MACHINE:
        return Path(unquote(parts.path))
    here = Path(given).absolute()
    raise ScriptError(
        Diagnostic(
            Code.BAD_ARGUMENT,
            f'checkpoint "{text}" is not in a file system of this machine',
            detail=f"An earlier version took it for the local folder {here}; name that to go on from there."
            if here.exists()
            else f"Millstream and Spark keep it together, and Millstream does not write to {parts.scheme} yet.",
            hint="Name a folder on a local disk, or on a file system that is mounted on every machine of the job.",
        )
    )
