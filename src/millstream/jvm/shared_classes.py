"""Java's class data archive for Spark, which halves the time a job takes to start.

The first JVM that exits normally leaves the archive behind; see docs/adr/0004-class-data-archive.md.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Final

from millstream.jvm.parts import cache_folder

if TYPE_CHECKING:
    from pathlib import Path

    from millstream.jvm.java import Java

SWITCH: Final = "MILLSTREAM_CLASS_ARCHIVE"
_LONG_ENOUGH_TO_WRITE: Final = 600


@dataclass(frozen=True, slots=True)
class SharedClasses:
    """The option for the JVM, and the file that it will create, if any."""

    java_option: str | None
    unfinished: Path | None = None
    archive: Path | None = None

    @property
    def is_being_made(self) -> bool:
        return self.unfinished is not None

    def keep(self) -> None:
        """Called when the JVM has ended: only a complete archive gets its final name."""
        if self.unfinished is not None and self.archive is not None and self.unfinished.exists():
            self.unfinished.replace(self.archive)


def shared_classes(java: Java, class_path: Path) -> SharedClasses:
    """The archive for this Java and this Spark; none when the environment says `off`."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return SharedClasses(None)
    identity = f"{java.executable.resolve()} {java.version} {class_path} {metadata.version('pyspark')}"
    archive = cache_folder() / f"spark-classes-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.jsa"
    if archive.exists():
        return SharedClasses(f"-XX:SharedArchiveFile={archive}")
    unfinished = archive.with_suffix(f".{os.getpid()}")
    _sweep(archive)
    return SharedClasses(f"-XX:ArchiveClassesAtExit={unfinished}", unfinished, archive)


def _sweep(archive: Path) -> None:
    """The archive of a killed driver never gets its final name; each is as large as Spark."""
    for left_behind in archive.parent.glob(f"{archive.stem}.[0-9]*"):
        with suppress(OSError):
            if left_behind.stat().st_mtime < time.time() - _LONG_ENOUGH_TO_WRITE:
                left_behind.unlink()
