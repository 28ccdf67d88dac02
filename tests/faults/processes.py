"""Runs `millstream run` as a process and follows its JSON output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

COMMAND = [sys.executable, "-m", "millstream.cli.main"]


def run_command(script: Path, parameters: dict[str, str], *options: str) -> list[str]:
    arguments = [part for name, value in parameters.items() for part in ("--param", f"{name}={value}")]
    return [*COMMAND, "run", str(script), *arguments, "--output", "json", *options]


def run_to_end(
    script: Path, parameters: dict[str, str], *options: str, environment: dict[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Processes all input, or ends at a failpoint that the environment names."""
    return subprocess.run(
        run_command(script, parameters, "--drain", *options),
        cwd=script.parent,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=seconds,
        check=False,
    )


@contextmanager
def run_in_background(
    script: Path, parameters: dict[str, str], notices: IO[str], *options: str, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        run_command(script, parameters, *options),
        cwd=script.parent,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=notices,
        text=True,
    )
    try:
        with process:
            yield process
            process.kill()
    finally:
        process.kill()


def objects(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    """All objects that it prints: batches and events."""
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


def batches(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    return (event for event in objects(process) if "batch" in event)


def until(process: subprocess.Popen[str], is_it: Callable[[dict[str, Any]], bool], notices: IO[str]) -> dict[str, Any]:
    for event in objects(process):
        if is_it(event):
            return event
    notices.seek(0)
    raise AssertionError(f"the job ended, and said: {notices.read()}")


def until_read(process: subprocess.Popen[str], rows: int, notices: IO[str]) -> None:
    until(process, lambda event: event.get("total_rows_in", 0) >= rows, notices)


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent: int
    session: int
    command: str


def processes() -> list[Process]:
    """All processes of this machine."""
    listed = subprocess.run(
        ["ps", "-wweo", "pid=,ppid=,sess=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = (line.split(maxsplit=3) for line in listed.splitlines() if "<defunct>" not in line)
    return [Process(int(pid), int(parent), int(session), " ".join(rest)) for pid, parent, session, *rest in rows]


def jvm_of(driver: int, among: Iterable[Process]) -> int | None:
    """Spark's JVM leads a process session that contains its workers and the delivery processes."""
    return next((each.pid for each in among if each.parent == driver and each.session == each.pid), None)
