"""Runs the Ivy that PySpark ships, in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from pathlib import Path
from typing import IO, TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from millstream.errors import Code, Diagnostic, SetupError
from millstream.jvm.declaration import IVY_FILE
from millstream.jvm.java import find_java
from millstream.notices import Passing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

REPOSITORY_VARIABLE = "MILLSTREAM_MAVEN_REPOSITORY"

# Four look-ups fail before Ivy gives up, so that an unresponsive network costs a minute and not an hour.
_SETTINGS = """<ivysettings>
  <settings defaultResolver="repository"/>
  <timeout-constraints>
    <timeout-constraint name="patience" connectionTimeout="5000" readTimeout="15000"/>
  </timeout-constraints>
  <resolvers>
    <ibiblio name="repository" m2compatible="true" timeoutConstraint="patience"{root}/>
  </resolvers>
</ivysettings>
"""
_FOUND = re.compile(r"\s*found [^#]+#(\S+);(\S+) in ")
_DOWNLOADING = re.compile(r"downloading \S*/(\S+) \.\.\.")
_FAILED = re.compile(r"access error|not found\. url=|\[FAILED|Exception|invalid (?:sha1|md5)")
_MISSING = re.compile(r"::.*: not found$")
_INVALID_CHECKSUM = re.compile(r"invalid (?:sha1|md5)")
_REASONS_SHOWN = 2


def resolve(
    part: str,
    work: Path,
    notice: Callable[[str], None],
    expected: int,
    lock: IO[str] | None = None,
    *,
    declaration: Path = IVY_FILE,
) -> Path:
    """Downloads the jars of a part, a configuration of the declaration, into a folder below `work`, and returns it.

    Ivy holds `lock` too: if this process is killed, Ivy continues to write into `work` for a while.
    """
    (work / "ivysettings.xml").write_text(_SETTINGS.format(root=_repository_attribute()), encoding="utf-8")
    command = [
        *(str(find_java().executable), "-XX:TieredStopAtLevel=1"),
        *(f"-Divy.home={work}", "-cp", str(_ivy_jar()), "org.apache.ivy.Main"),
        *("-settings", "ivysettings.xml", "-ivy", str(declaration), "-cache", "cache", "-confs", part),
        *("-types", "jar", "bundle", "-retrieve", "jars/[artifact]-[revision](-[classifier]).[ext]"),
    ]
    with subprocess.Popen(
        command,
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        pass_fds=(lock.fileno(),) if lock else (),
    ) as ivy:
        try:
            assert ivy.stdout is not None
            output = _follow(ivy.stdout, notice, expected)
        except BaseException:
            ivy.kill()
            raise
    if ivy.returncode != 0:
        raise _failure(part, output)
    return work / "jars"


def repository_name() -> str:
    return os.environ.get(REPOSITORY_VARIABLE) or "Maven Central"


def _repository_attribute() -> str:
    root = os.environ.get(REPOSITORY_VARIABLE)
    return f" root={quoteattr(root.rstrip('/') + '/')}" if root else ""


def _ivy_jar() -> Path:
    pyspark = importlib.util.find_spec("pyspark")
    for folder in (pyspark and pyspark.submodule_search_locations) or ():
        for jar in sorted((Path(folder) / "jars").glob("ivy-*.jar")):
            return jar
    raise SetupError(
        Diagnostic(
            Code.JVM_PARTS_UNAVAILABLE,
            "PySpark's folder has no jars/ivy-*.jar, which downloads the other jars",
            detail=f"PySpark is {pyspark.origin if pyspark else 'not installed'}.",
            hint="Install pyspark from its package rather than from a source tree.",
        )
    )


def _follow(lines: Iterable[str], notice: Callable[[str], None], expected: int) -> list[str]:
    output: list[str] = []
    started = 0
    for line in lines:
        output.append(line.rstrip())
        if found := _FOUND.match(line):
            notice(Passing(f"found {found[1]} {found[2]}"))
        elif downloading := _DOWNLOADING.match(line):
            started += 1
            notice(Passing(f"downloading {downloading[1]} ({started} of {expected})"))
    return output


def _find_lines(pattern: re.Pattern[str], output: list[str]) -> list[str]:
    return list(dict.fromkeys(line.strip() for line in output if pattern.search(line)))


def _failure(part: str, output: list[str]) -> SetupError:
    reasons = _find_lines(_FAILED, output) or _find_lines(_MISSING, output) or output[-_REASONS_SHOWN:]
    damaged = any(map(_INVALID_CHECKSUM.search, reasons))
    return SetupError(
        Diagnostic(
            Code.JVM_PARTS_DAMAGED if damaged else Code.JVM_PARTS_UNAVAILABLE,
            f"the jars of {part} could not be downloaded from {repository_name()}",
            detail="\n".join(reasons[:_REASONS_SHOWN]),
        )
    )
