"""Finds Java on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from millstream.errors import Code, Diagnostic, SetupError

ACCEPTED_MAJORS = (17, 21)

_INSTALL_HINT = (
    "Install a Java 17 or 21 runtime (for example the package openjdk-17-jre-headless), "
    "and put its bin folder on PATH or name its folder in JAVA_HOME."
)
_VERSION = re.compile(r'version "((\d+)(?:\.(\d+))?[^"]*)"')
_VERSION_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Java:
    executable: Path
    major: int
    version: str = ""
    """In full, e.g. `17.0.15`."""


def find_java() -> Java:
    """The Java that Spark will use too: that of JAVA_HOME, or of PATH if JAVA_HOME is not set."""
    executable = _executable()
    version, major = _version(executable)
    if major not in ACCEPTED_MAJORS:
        raise SetupError(
            Diagnostic(
                Code.JAVA_VERSION,
                f"Java {major} was found, but Java 17 or 21 is needed",
                detail=f"It is {executable}, {_describe_search()}.",
                hint=_INSTALL_HINT,
            )
        )
    return Java(executable, major, version)


def _describe_search() -> str:
    return "named by JAVA_HOME" if os.environ.get("JAVA_HOME") else "the first java on PATH"


def _executable() -> Path:
    if home := os.environ.get("JAVA_HOME"):
        found = shutil.which("java", path=str(Path(home) / "bin"))
        if found is None:
            raise _java_missing_error("JAVA_HOME names a folder without bin/java", detail=f"JAVA_HOME is {home}.")
        return Path(found).absolute()
    found = shutil.which("java")
    if found is None:
        raise _java_missing_error("no Java was found", detail="JAVA_HOME is not set, and there is no java on PATH.")
    return Path(found).absolute()


def _version(executable: Path) -> tuple[str, int]:
    try:
        shown = subprocess.run(
            [executable, "-version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _java_missing_error(f"{executable} could not be run", detail=str(error)) from error
    version = _VERSION.search(shown.stdout)
    if shown.returncode != 0 or version is None:
        output = shown.stdout.strip() or f"exit code {shown.returncode}"
        raise _java_missing_error(f"{executable} does not report its version", detail=output)
    whole, first, second = version.groups()
    is_before_java_9 = first == "1" and second is not None
    return whole, int(second if is_before_java_9 else first)


def _java_missing_error(primary: str, detail: str) -> SetupError:
    return SetupError(Diagnostic(Code.JAVA_MISSING, primary, detail=detail, hint=_INSTALL_HINT))
