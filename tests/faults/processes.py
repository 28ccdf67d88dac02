"""`millstream run` as a process that is watched through its JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COMMAND = [sys.executable, "-m", "millstream.cli.main"]


@contextmanager
def running(
    script: Path, parameters: dict[str, str], notices: IO[str], *options: str, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    given = [part for name, value in parameters.items() for part in ("--param", f"{name}={value}")]
    process = subprocess.Popen(
        [*COMMAND, "run", str(script), *given, "--output", "json", *options],
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
    """All that it tells: batches, and events beside them."""
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)


def batches(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    return (told for told in objects(process) if "batch" in told)


def until(process: subprocess.Popen[str], is_it: Callable[[dict[str, Any]], bool], notices: IO[str]) -> dict[str, Any]:
    for told in objects(process):
        if is_it(told):
            return told
    notices.seek(0)
    raise AssertionError(f"the job ended, and said: {notices.read()}")


def until_read(process: subprocess.Popen[str], rows: int, notices: IO[str]) -> None:
    until(process, lambda told: told.get("total_rows_in", 0) >= rows, notices)
