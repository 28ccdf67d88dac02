"""`millstream run` as a process that can be killed."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

COMMAND = [sys.executable, "-m", "millstream.cli.main"]


@contextmanager
def running(
    script: Path, parameters: Mapping[str, str], notices: IO[str], *options: str
) -> Iterator[subprocess.Popen[str]]:
    given = [part for name, value in parameters.items() for part in ("--param", f"{name}={value}")]
    process = subprocess.Popen(
        [*COMMAND, "run", str(script), *given, "--output", "json", *options],
        cwd=script.parent,
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


def batches(process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        yield json.loads(line)
