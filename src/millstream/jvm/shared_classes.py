"""Java's class data archive for Spark, which halves the time a job takes to start.

The first JVM that exits normally leaves the archive behind; see docs/adr/0004-class-data-archive.md.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import dataclass
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


def shared_classes(java: Java, pyspark: Path) -> SharedClasses:
    """The archive for this Java and the PySpark in this folder; none when the environment says `off`."""
    if os.environ.get(SWITCH, "").lower() == "off":
        return SharedClasses(None)
    installation = _digest(f"{java.executable.resolve()} {pyspark}")
    archive = cache_folder() / f"spark-classes-{installation}-{_digest(f'{java.version} {_jars_of(pyspark)}')}.jsa"
    if archive.exists():
        return SharedClasses(f"-XX:SharedArchiveFile={archive}")
    unfinished = archive.with_suffix(f".{os.getpid()}")
    _sweep(archive.parent, installation)
    return SharedClasses(f"-XX:ArchiveClassesAtExit={unfinished}", unfinished, archive)


def _jars_of(pyspark: Path) -> list[tuple[str, int, int]]:
    """Java silently ignores an archive made from other jar files, and compares sizes and times of modification."""
    files = [(jar.name, jar.stat()) for jar in pyspark.glob("jars/*.jar")]
    return sorted((name, found.st_size, found.st_mtime_ns) for name, found in files)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _sweep(folder: Path, installation: str) -> None:
    """Remove archives of jar files that were replaced, and those of killed drivers: each is as large as Spark.

    A JVM that has one of them open keeps its mapping.
    """
    for left_behind in folder.glob(f"spark-classes-{installation}-*"):
        with suppress(OSError):
            is_whole = left_behind.suffix == ".jsa"
            if is_whole or left_behind.stat().st_mtime < time.time() - _LONG_ENOUGH_TO_WRITE:
                left_behind.unlink()
