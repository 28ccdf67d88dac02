"""The jars of each part, downloaded once into a cache folder and checked against the lock file."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from millstream.errors import Code, Diagnostic, SetupError
from millstream.jvm.declaration import LockedJar, Part, declaration_digest, read_locked_jars
from millstream.jvm.ivy import REPOSITORY_VARIABLE, repository_name, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Part", "cache_folder", "jars"]

CACHE_VARIABLE = "MILLSTREAM_CACHE"

_OFFLINE_HINT = (
    "Connect this machine to the network once; behind a proxy set "
    "JAVA_TOOL_OPTIONS='-Dhttps.proxyHost=HOST -Dhttps.proxyPort=PORT'; "
    f"or name another Maven repository in {REPOSITORY_VARIABLE}; "
    "or copy the cache folder {folder} from a machine that has it."
)
_DAMAGED_HINT = (
    "Nothing was kept; try again, and if the problem persists, check what is between this machine "
    f"and the repository, or name another Maven repository in {REPOSITORY_VARIABLE}."
)


def jars(part: Part, notice: Callable[[str], None] | None = None) -> tuple[Path, ...]:
    """The jars of a part; the first call on a machine downloads them and needs Java and the network.

    `notice` is called with a short line for each step of a download.
    """
    folder = cache_folder() / f"{part}-{declaration_digest()}"
    if not _is_intact(folder, part):
        _fill(folder, part, notice or _no_op)
    return tuple(folder / jar.name for jar in read_locked_jars(part))


def cache_folder() -> Path:
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen).expanduser().absolute()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).absolute() / "millstream"
    return Path.home() / ".cache" / "millstream"


def _no_op(_: str) -> None:
    pass


def _is_intact(folder: Path, part: Part) -> bool:
    """Quick on purpose: digests were compared when the folder was filled; this only looks for missing files."""
    try:
        return all((folder / jar.name).stat().st_size == jar.size for jar in read_locked_jars(part))
    except OSError:
        return False


def _fill(folder: Path, part: Part, notice: Callable[[str], None]) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _hold_lock(folder.parent / f"{part}.lock", notice) as lock:
            if _is_intact(folder, part):
                return
            _remove_remains(folder, part)
            _download(folder, part, notice, lock)
    except OSError as error:
        raise SetupError(
            Diagnostic(
                Code.JVM_PARTS_UNAVAILABLE,
                f"the jars of {part} could not be stored in the cache folder",
                detail=str(error),
                hint=f"Name a folder that can be written, with some 100 MB free, in {CACHE_VARIABLE}.",
            )
        ) from error


@contextmanager
def _hold_lock(lock: Path, notice: Callable[[str], None]) -> Iterator[IO[str]]:
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            notice("waiting for another process that downloads the same jars")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield held


def _remove_remains(folder: Path, part: Part) -> None:
    """Called with the lock held, so an incomplete folder belongs to a process that was killed."""
    for unfinished in folder.parent.glob(f".{part}-*"):
        shutil.rmtree(unfinished, ignore_errors=True)
    if folder.exists():
        shutil.rmtree(folder)


def _download(folder: Path, part: Part, notice: Callable[[str], None], lock: IO[str]) -> None:
    wanted = read_locked_jars(part)
    megabytes = sum(jar.size for jar in wanted) / 1e6
    notice(f"{len(wanted)} jars ({megabytes:.0f} MB) from {repository_name()}, once, into {folder}")
    work = Path(tempfile.mkdtemp(prefix=f".{part}-", dir=folder.parent))
    try:
        resolved = _resolve(folder, part, work, notice, lock)
        _verify(resolved, part)
        resolved.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    notice(f"{len(wanted)} jars ready")


def _resolve(folder: Path, part: Part, work: Path, notice: Callable[[str], None], lock: IO[str]) -> Path:
    try:
        return resolve(part, work, notice, len(read_locked_jars(part)), lock)
    except SetupError as error:
        (found,) = error.diagnostics
        if found.hint is not None:
            raise
        hint = _DAMAGED_HINT if found.code is Code.JVM_PARTS_DAMAGED else _OFFLINE_HINT.format(folder=folder)
        raise SetupError(replace(found, hint=hint)) from None


def _verify(resolved: Path, part: Part) -> None:
    wanted = set(read_locked_jars(part))
    received = {LockedJar.of_file(part, jar) for jar in resolved.iterdir()}
    if wanted == received:
        return
    missing = {jar.name for jar in wanted - received}
    unexpected = {jar.name for jar in received - wanted}
    raise SetupError(
        Diagnostic(
            Code.JVM_PARTS_DAMAGED,
            f"the jars of {part} from {repository_name()} do not match the lock file",
            detail=f"Different or missing: {_enumerate(missing)}. Not expected: {_enumerate(unexpected - missing)}.",
            hint=_DAMAGED_HINT,
        )
    )


def _enumerate(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
